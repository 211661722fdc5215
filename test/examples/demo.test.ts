import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PREVIEW_TOKEN_PATTERN } from '#protocol/preview-words.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { COMPILE_CACHE } from '#test/support/compile-cache.ts';

const MAIN = new URL('../../examples/demo/main.ts', import.meta.url).pathname;

interface Ended {
  readonly code: number | null;
  readonly said: string;
}

/** Runs the demo to its end; `until` sends SIGINT once the output contains it. */
async function runDemo(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  until?: string,
): Promise<Ended> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...COMPILE_CACHE, ...environment },
  });
  let said = '';
  const listen = (chunk: Buffer): void => {
    const before = said;
    said += chunk.toString();
    if (until !== undefined && !before.includes(until) && said.includes(until)) child.kill('SIGINT');
  };
  child.stdout.on('data', listen);
  child.stderr.on('data', listen);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said };
}

describe('npm run demo', () => {
  const KEY = 'a-key-of-the-service';
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost({ SANDBOX_API_KEY: KEY });
  });
  afterAll(() => porthole.end());

  test('shows and checks a Vite project in the Porthole that runs, and leaves nothing in it', async () => {
    const { code, said } = await runDemo(['--once'], {
      PORT: String(porthole.host.port),
      SANDBOX_API_KEY: KEY,
    });
    expect({ code, said }).toMatchObject({ code: 0, said: expect.stringContaining('It works.') });
    expect(said).toMatch(
      new RegExp(`http://${PREVIEW_TOKEN_PATTERN}-preview\\.localhost:${porthole.host.port}\n`),
    );
    expect(said).toContain('An edited file is announced over it (/src/main.js)');
    const sandboxes = [];
    for await (const id of porthole.host.services.sandboxes.list()) sandboxes.push(id);
    expect(sandboxes).toEqual([]);
    const { runs } = (await porthole.call('GET', '/api/runs', { token: KEY })).json<{ runs: object[] }>();
    expect(runs).toEqual([expect.objectContaining({ title: 'npm run demo', status: 'completed' })]);
  });

  test('names the key that is missing', async () => {
    const { code, said } = await runDemo(['--once'], { PORT: String(porthole.host.port) });
    expect(code).toBe(1);
    expect(said).toContain('This Porthole wants a key: SANDBOX_API_KEY=… npm run demo');
  });

  test('starts a Porthole where none answers, keeps the preview until Ctrl-C, and then ends both', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'porthole-demo-'));
    try {
      const environment = { PORT: '0', PORTHOLE_DATA_DIR: folder };
      const { code, said } = await runDemo([], environment, 'Ctrl-C ends the demo.');
      expect({ code, said }).toMatchObject({
        code: 0,
        said: expect.stringContaining(
          'Put away: preview stopped, sandbox deleted, run completed, Porthole ended',
        ),
      });
      expect(said).toMatch(
        /curl -X PUT http:\/\/127\.0\.0\.1:\d+\/v1\/sandbox\/[a-z2-7]{26}\/file\/workspace\/site\/src\/heading\.js -d /,
      );
      expect(await readdir(join(folder, 'sandboxes'))).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test('refuses an option that it does not know', async () => {
    const { code, said } = await runDemo(['--onec'], {});
    expect(code).toBe(1);
    expect(said).toContain("Unknown option '--onec'");
  });
});
