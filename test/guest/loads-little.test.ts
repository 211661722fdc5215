/** What the guest loads at its start: most guests are idle. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

const MODULE = new URL('../../guest/serve-guest.ts', import.meta.url).href;
const SCRIPT = `
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
await import(${JSON.stringify(MODULE)});
console.log(JSON.stringify(loaded));`;

test('loads no schemas and no packages at its start', async () => {
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', SCRIPT];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const loaded = JSON.parse(stdout) as string[];
  expect(loaded).toContain(MODULE);
  expect(loaded.filter((url) => url.includes('/node_modules/'))).toEqual([]);
});
