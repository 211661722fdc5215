import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { startTestHost } from '#test/support/in-process-host.ts';

const ROOT = join(import.meta.dirname, '../..');

test('the example of the library runs as it stands', async () => {
  const page = await readFile(join(ROOT, 'docs/agents.md'), 'utf8');
  const [, example = ''] = /^```ts\n(.*?)^```$/ms.exec(page) ?? [];
  const porthole = await startTestHost();
  const folder = await mkdtemp(join(tmpdir(), 'porthole-docs-'));
  try {
    const file = join(folder, 'example.ts');
    const here = example
      .replaceAll('./agent/', `${ROOT}/agent/`)
      .replaceAll('127.0.0.1:8787', `127.0.0.1:${porthole.host.port}`);
    await writeFile(file, here);
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    const { stdout } = await promisify(execFile)(process.execPath, [file]);
    expect(stdout).toBe(
      '3 false Port 3000 has no live preview. Nothing listens on port 3000: start the server in the background (e.g. nohup npm run dev -- --port 3000 >server.log 2>&1 &), then ask again.\n',
    );
  } finally {
    await porthole.end();
    await rm(folder, { recursive: true, force: true });
  }
});
