import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { porthole, startPorthole } from './support/porthole-command.ts';

const LIVE_MS = 120_000;

describe('porthole up of a server that does not follow edits', () => {
  let host: TestHost;
  let folder: string;
  let environment: Record<string, string>;

  beforeAll(async () => {
    host = await startTestHost();
    const root = await mkdtemp(join(tmpdir(), 'porthole-restarts-'));
    folder = join(root, 'app');
    await mkdir(folder);
    environment = {
      PORTHOLE_URL: `http://127.0.0.1:${host.host.port}`,
      XDG_CACHE_HOME: join(root, 'cache'),
    };
  });
  afterAll(async () => {
    await host.end();
    await rm(join(folder, '..'), { recursive: true });
  });

  const serve = (text: string) =>
    writeFile(
      join(folder, 'server.js'),
      `require('node:http').createServer((_, answer) => answer.end('${text}')).listen(process.env.PORT);`,
    );
  const untilShown = async (url: string, text: string): Promise<void> => {
    while ((await host.call('GET', '/', { host: new URL(url).host })).text !== text) await pause(50);
  };

  test(
    'restarts it after an edit, and says so once',
    async () => {
      await writeFile(join(folder, 'package.json'), '{"scripts": {"start": "node server.js"}}');
      await serve('one');
      const running = startPorthole(['up', folder], environment);
      const url = (await running.until('\n')).trim();
      await untilShown(url, 'one');
      await serve('two');
      await untilShown(url, 'two');
      await serve('three');
      await untilShown(url, 'three');
      running.child.kill('SIGINT');
      const { code, stderr } = await running.outcome;
      expect([code, stderr.match(/does not follow edits: it is restarted after each/g)]).toEqual([
        0,
        [expect.any(String)],
      ]);
    },
    LIVE_MS,
  );

  test(
    'restarts it with --json, too, where edits are followed in the background',
    async () => {
      await serve('four');
      const { stdout } = await porthole(['up', folder, '--json'], environment);
      const { preview_url: url = '' } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}') as {
        preview_url?: string;
      };
      await untilShown(url, 'four');
      await serve('five');
      await untilShown(url, 'five');
      expect((await porthole(['delete', folder], environment)).code).toBe(0);
    },
    LIVE_MS,
  );

  test(
    'restarts it after an edit that was made before edits were followed',
    async () => {
      await serve('six');
      const up = startPorthole(['up', folder], environment);
      const url = (await up.until('\n')).trim();
      await untilShown(url, 'six');
      up.child.kill('SIGKILL');
      await up.outcome;
      await serve('seven');
      const { sandboxes } = (await host.call('GET', '/v1/sandbox')).json<{ sandboxes: [{ id: string }] }>();
      const [{ id }] = sandboxes;
      const declared = await host.call('GET', `/v1/sandbox/${id}/servers`);
      const { servers } = declared.json<{ servers: [{ name: string }] }>();
      const options = ['--watch', '--restart', servers[0].name];
      const following = startPorthole(['sync', folder, id, ...options], environment);
      await untilShown(url, 'seven');
      following.child.kill('SIGINT');
      await following.outcome;
      expect((await porthole(['delete', folder], environment)).code).toBe(0);
    },
    LIVE_MS,
  );
});
