/** The broker of one machine is part of the host: connections of sandboxes while it is killed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLocalProvider, type LocalProvider } from '#adapters/local/local-provider.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { call } from '#test/support/in-process-host.ts';
import { type Internet, startInternet } from '#test/support/internet.ts';
import { repetitions, suite } from '#test/support/suite.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';

const KILLS = repetitions(10);
/** Open connections of the sandbox at each kill. */
const LOAD = 50;

/** Prints how many connections failed, once all have ended. */
const SCRIPT = `
for i in $(seq ${LOAD}); do curl -sS -p -o /dev/null -m 300 http://api.example.test/endless & done 2>/dev/null
failed=0
for job in $(jobs -p); do wait $job || failed=$((failed + 1)); done
echo $failed`;

suite('the broker of one machine', missingFor('bubblewrap'), () => {
  let dataDir: string;
  let environment: Record<string, string>;
  let host: HostProcess;
  let provider: LocalProvider & TestProvider;
  let id: string;
  let internet: Internet;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'porthole-killed-'));
    provider = withGuests(createLocalProvider({ dataDir }));
    internet = await startInternet();
    const { proxy } = internet;
    environment = { http_proxy: proxy, https_proxy: proxy };
    host = await startHostProcess({ dataDir, environment });
    const made = await call(host.port, 'POST', '/v1/sandbox', {
      body: { network: 'allowlist', allow: ['api.example.test'] },
    });
    expect([made.status, made.text]).toEqual([200, expect.any(String)]);
    ({ id } = made.json<{ id: string }>());
  }, 60_000);
  afterAll(async () => {
    await host?.end('SIGKILL');
    for await (const each of provider.list()) await provider.destroy(each);
    await provider.close();
    internet?.close();
    await rm(dataDir, { recursive: true, force: true });
  }, 60_000);

  /** Runs a command without the host. */
  const run = async (...argv: [string, ...string[]]) => {
    const { stdout, stderr, exited } = await provider.exec(id, { argv });
    const [out, err, { code }] = await Promise.all([text(stdout), text(stderr), exited]);
    return { out, err, code };
  };
  const curl = (url: string) => run('curl', '-sS', '-p', '-m', '30', url);

  test(
    `fails connections while it is killed ${KILLS} times under load, and never opens the policy`,
    async () => {
      for (let kill = 0; kill < KILLS; kill += 1) {
        const before = internet.tunnels.length;
        const load = run('bash', '-c', SCRIPT);
        await internet.tunnelled(before + LOAD);
        await host.end('SIGKILL');
        expect((await load).out).toBe(`${LOAD}\n`);
        for (const name of ['api.example.test', 'evil.example.test']) {
          const plain = await run('curl', '-sS', '-m', '30', '-w', '%{http_code}', `http://${name}/`);
          expect(plain.out).toBe('Porthole cannot be reached: its host is not running. Try again.\n503');
          const tunnel = await curl(`http://${name}/`);
          expect([tunnel.code, tunnel.err]).toEqual([56, expect.stringContaining('503')]);
        }
        expect(internet.tunnels).toHaveLength(before + LOAD);
        host = await startHostProcess({ dataDir, environment });
        expect(await curl('http://api.example.test/')).toEqual({ out: 'from afar\n', err: '', code: 0 });
        const refused = await curl('http://evil.example.test/');
        expect([refused.code, refused.err]).toEqual([56, expect.stringContaining('403')]);
      }
      expect(internet.tunnels.filter((each) => !each.startsWith('api.example.test:'))).toEqual([]);
    },
    60_000 + KILLS * 60_000,
  );
});
