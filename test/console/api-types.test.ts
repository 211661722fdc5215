import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

test('checks the console against the types of the routes (node build/write-console-api-types.ts)', () => {
  const script = `import { consoleApiTypes } from ${JSON.stringify(join(ROOT, 'build/console-api-types.ts'))};
    process.stdout.write(await consoleApiTypes());`;
  const fresh = execFileSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script],
    { cwd: ROOT, encoding: 'utf8' },
  );
  expect(readFileSync(join(ROOT, 'console/src/api/api.ts'), 'utf8')).toBe(fresh);
});
