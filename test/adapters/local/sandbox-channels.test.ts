/**
 * The sockets on which sandboxes reach the host, with the host run as root and as an ordinary user.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { DrivenHost, type HostPlace, prepare } from '#test/adapters/local/driven-host.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { sandboxId } from '#test/contracts/sandbox-provider.contract.ts';
import { suite } from '#test/support/suite.ts';

const isRoot = process.getuid?.() === 0;
const KINDS = [
  ['bubblewrap', 'root'],
  ['bubblewrap', 'ordinary user'],
  ['unshare', 'root'],
  ['unshare', 'ordinary user'],
  ['gvisor', 'root'],
  ['gvisor', 'ordinary user'],
  ['none', 'ordinary user'],
] as const;

for (const [isolation, as] of KINDS) {
  const notRoot = as === 'root' && !isRoot ? 'the tests must run as root: sudo npm test' : undefined;
  suite(`a sandbox’s channel, ${isolation}, host run as ${as}`, missingFor(isolation) ?? notRoot, () => {
    const id = sandboxId();
    const neighbour = sandboxId();
    let folder: string;
    let place: HostPlace;
    let host: DrivenHost;
    let socket: string;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'porthole-channel-'));
      place = { folder, isolation, as };
      await prepare(place);
      host = await DrivenHost.start(place);
      await Promise.all([host.create(id), host.create(neighbour)]);
      socket = (await host.channelPath(id)) ?? '';
    });
    afterAll(async () => {
      await host.destroy(id);
      await host.destroy(neighbour);
      await host.kill();
      rmSync(folder, { recursive: true });
    });

    /** Sends a request on the channel from inside; returns the response, or curl's exit code. */
    const ask = async (of: string, path = isolation === 'none' ? '' : socket): Promise<string> => {
      const at = path === '' ? ((await host.channelPath(of)) ?? '/none') : path;
      return (
        await host.shell(
          of,
          `cd "${at.replace(/\/[^/]*$/, '')}" && curl -s -m 5 --unix-socket ./porthole.sock http://porthole/; [ $? = 0 ] || echo "curl $?"`,
        )
      ).trim();
    };

    test('reaches the host, which knows the sandbox of the connection', async () => {
      expect(await ask(id)).toBe(`${host.pid} ${id}`);
      expect(await ask(neighbour)).toBe(`${host.pid} ${neighbour}`);
    });

    // Without isolation, commands have all the host's rights, and a warning states it.
    if (isolation !== 'none') {
      test('cannot be meddled with', async () => {
        const attempts = [
          'rm -f porthole.sock',
          'mv porthole.sock other.sock',
          'touch mine',
          'ln -s /workspace mine',
          'chmod 777 porthole.sock',
          `node -e "require('net').createServer().on('error', () => process.exit(1)).listen('mine.sock', () => process.exit())"`,
        ];
        for (const attempt of attempts) {
          const said = await host.shell(
            id,
            `cd ${socket.replace(/\/[^/]*$/, '')} && ${attempt} && echo done`,
          );
          expect(said).not.toContain('done');
        }
        expect(await ask(id)).toBe(`${host.pid} ${id}`);
      });
    }

    test('goes with the sandbox’s stop, and comes back with its resume', async () => {
      const onHost = join(folder, 'data/sandboxes', id, 'channel');
      expect(readdirSync(onHost)).toEqual(['porthole.sock']);
      await host.stop(id);
      expect(readdirSync(onHost)).toEqual([]);
      expect(await host.channelPath(id)).toBeUndefined();
      await host.resume(id);
      expect(await ask(id)).toBe(`${host.pid} ${id}`);
    });

    test('leads to the next host when this one was killed', async () => {
      const before = host.pid;
      await host.shell(id, 'sleep 1000 >/dev/null 2>&1 & echo $! >mark');
      await host.kill();
      host = await DrivenHost.start(place);
      expect(host.pid).not.toBe(before);
      expect(await ask(id)).toBe(`${host.pid} ${id}`);
      expect(await ask(neighbour)).toBe(`${host.pid} ${neighbour}`);
      // It is the same sandbox, and was not restarted.
      expect(await host.shell(id, 'kill -0 "$(cat mark)" && echo same')).toBe('same\n');
    });

    test('is nowhere once the sandbox is destroyed', async () => {
      const gone = sandboxId();
      await host.create(gone);
      expect(await ask(gone)).toBe(`${host.pid} ${gone}`);
      await host.destroy(gone);
      expect(existsSync(join(folder, 'data/sandboxes', gone))).toBe(false);
    });

    // The host counts the same whatever the sandbox is made of.
    if (isolation !== 'bubblewrap' || (as === 'ordinary user' && isRoot)) return;

    test('keeps to 16 connections at a time', async () => {
      const path = (await host.channelPath(id)) ?? '';
      const program = `process.chdir(require('path').dirname(process.argv[1]));
        let closed = 0;
        const all = Array.from({ length: 24 }, () => {
          const socket = require('net').connect('porthole.sock');
          socket.on('error', () => {}); socket.on('close', () => { if (++closed === 8) { console.log('8 closed'); setTimeout(() => { console.log(closed); process.exit(); }, 100); } });
          return socket;
        });`;
      expect(await host.shell(id, `node -e "$(cat <<'END'\n${program}\nEND\n)" ${path}`)).toBe(
        '8 closed\n8\n',
      );
    });

    test('pauses when it is flooded; the host and the other sandboxes go on', async () => {
      const path = (await host.channelPath(id)) ?? '';
      const program = `process.chdir(require('path').dirname(process.argv[1]));
        const until = Date.now() + 3000;
        const counts = {};
        const knock = () => {
          if (Date.now() > until) return;
          const socket = require('net').connect('porthole.sock');
          let how = 'answered';
          socket.on('connect', () => socket.write('GET / HTTP/1.0\\r\\n\\r\\n'));
          socket.on('error', (error) => (how = error.code));
          socket.resume();
          socket.on('close', () => { counts[how] = (counts[how] || 0) + 1; knock(); });
        };
        for (let i = 0; i < 8; i++) knock();
        process.on('exit', () => console.log(JSON.stringify(counts)));`;
      const before = await host.channelRequests();
      const flooding = host.shell(id, `node -e "$(cat <<'END'\n${program}\nEND\n)" ${path}`);
      let asked = 0;
      while (asked < 20) {
        expect(await ask(neighbour)).toBe(`${host.pid} ${neighbour}`);
        asked += 1;
      }
      const counts = JSON.parse((await flooding).trim()) as Record<string, number>;
      // 3 s of connection attempts: about 50 at a time, with a second between.
      expect((await host.channelRequests()) - before - asked).toBeLessThan(300);
      expect(counts['ECONNREFUSED'] ?? 0).toBeGreaterThan(100);
      for (let tries = 0; tries < 100 && (await ask(id)) !== `${host.pid} ${id}`; tries += 1);
      expect(await ask(id)).toBe(`${host.pid} ${id}`);
    });
  });
}
