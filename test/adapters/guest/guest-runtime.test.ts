/** The guest folder is rejected if a part of it is missing. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { buildGuestRuntime } from '#adapters/guest/guest-runtime.ts';

const { resolve } = createRequire(import.meta.url);
const findWithout = (part: string) => (path: string) => (path.includes(part) ? undefined : resolve(path));

let cache: string;
beforeAll(() => {
  cache = mkdtempSync(join(tmpdir(), 'porthole-guest-cache-'));
});
afterAll(() => rmSync(cache, { recursive: true, force: true }));

test('refuses to build without the native calls, names the package, and writes nothing', async () => {
  await expect(buildGuestRuntime(cache, findWithout('koffi'))).rejects.toMatchObject({
    code: 'internal_error',
    message: expect.stringMatching(
      /@koromix\/koffi-linux-\w+ is not installed\. Run npm ci without --omit=optional/,
    ),
  });
  expect(readdirSync(cache)).toEqual([]);
});

test('builds without terminals', async () => {
  const folder = await buildGuestRuntime(cache, findWithout('node-pty'));
  expect(existsSync(join(folder, 'calls.node'))).toBe(true);
  expect(existsSync(join(folder, 'pty.node'))).toBe(false);
});
