/** The hazards of forks with memory in docs/guides/checkpoints.md: in two forks of a program. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { missingFor, runsc } from '#test/adapters/local/machine.ts';
import { issueCertificate, makeAuthority } from '#test/cluster/fixture/certificate-authority.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type Internet, startInternet } from '#test/support/internet.ts';
import { suite } from '#test/support/suite.ts';
import { execute } from './support/commands.ts';

const PROGRAM = readFileSync(join(import.meta.dirname, 'support/hazardous-program.mjs'), 'utf8');

/** How soon a program sees that a connection was closed, in ms. */
const NOTICED_WITHIN = 1_000;

/** How far the clocks of sandboxes may differ from that of the machine, in ms. */
const CLOCK_SLACK = 50;

interface Sandbox {
  readonly ttl_seconds: number;
  readonly created_at: string;
  readonly expires_at: string;
}

suite('hazards of forks with memory', missingFor('gvisor'), () => {
  let folder: string;
  let internet: Internet;
  let secure: Server;
  let porthole: TestHost;
  /** The original, and its forks. */
  let all: readonly [string, string, string];
  let times: { readonly asked: number; readonly saved: number; readonly forked: number };

  const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await porthole.call(method, path, { body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.status === 204 ? (undefined as T) : answer.json<T>();
  };
  const shell = async (id: string, script: string): Promise<string> =>
    (await execute(porthole, id, ['sh', '-c', script])).stdout.toString().trim();
  /** What a function of the program returns. */
  const call = async <T>(id: string, name: string): Promise<T> =>
    JSON.parse(await shell(id, `curl -sS -m 20 127.0.0.1:3000/${name} 2>&1`)) as T;
  const callEach = <T>(name: string) => Promise.all(all.map((id) => call<T>(id, name)));
  const shellEach = (script: string) => Promise.all(all.map((id) => shell(id, script)));

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'porthole-hazards-'));
    await makeAuthority(folder);
    const { certificate, key } = await issueCertificate(folder, 'tls', { commonName: 'tls', use: 'server' });
    secure = createServer({ cert: certificate, key }, (socket) => {
      socket.on('error', () => {}).write('from afar');
    });
    secure.listen(0, '127.0.0.1');
    await once(secure, 'listening');
    internet = await startInternet({ serverOf: (_host, port) => (port === 443 ? secure : undefined) });
    porthole = await startTestHost({
      PORTHOLE_ISOLATION: 'gvisor',
      PORTHOLE_RUNSC: runsc,
      https_proxy: internet.proxy,
      http_proxy: internet.proxy,
    });
    const allow = ['tls.example.test', 'plain.example.test:7000'];
    const { id } = await ask<{ id: string }>('POST', '/v1/sandbox', { allow, ttl_seconds: 3600 });
    await ask('POST', '/api/runs', { sandbox_id: id });
    await ask('PUT', `/v1/sandbox/${id}/file/workspace/program.mjs`, PROGRAM);
    await ask('PUT', `/v1/sandbox/${id}/servers/program`, { argv: ['node', 'program.mjs'], port: 3000 });
    await ask('POST', `/v1/sandbox/${id}/ports/3000/wait`, {});
    const path = `/v1/sandbox/${id}/checkpoints`;
    const asked = Date.now();
    const made = await ask<{ id: string }>('POST', path, { memory: true });
    const saved = Date.now();
    // With previews, so that each fork has a run and its credentials.
    const forks = { count: 2, previews: true };
    const { sandboxes } = await ask<{ sandboxes: { id: string; memory: boolean }[] }>(
      'POST',
      `${path}/${made.id}/fork`,
      forks,
    );
    times = { asked, saved, forked: Date.now() };
    expect(sandboxes).toMatchObject([{ memory: true }, { memory: true }]);
    const [first, second] = sandboxes.map((each) => each.id);
    all = [id, first ?? '', second ?? ''];
  }, 60_000);
  afterAll(async () => {
    await porthole?.end();
    internet?.close();
    secure?.close();
    rmSync(folder, { recursive: true });
  });

  test('generators in memory go on alike, and random numbers of the kernel differ', async () => {
    interface Random {
      readonly alike: Readonly<Record<'math' | 'bytes' | 'generator', string>>;
      readonly kernel: Readonly<Record<'urandom' | 'secret', string>>;
    }
    const random = await callEach<Random>('random');
    expect(new Set(random.map(({ alike }) => JSON.stringify(alike))).size).toBe(1);
    expect(new Set(random.flatMap(({ kernel }) => Object.values(kernel))).size).toBe(6);
    // A program that starts in a fork has a new generator.
    const fresh = await shellEach(`node -p 'crypto.randomBytes(16).toString("hex")'`);
    expect(new Set(fresh).size).toBe(3);
  });

  test('clocks show the present, and timers do not catch up', async () => {
    const ends = await callEach<number[]>('ends');
    for (const [index, id] of all.entries()) {
      const before = Date.now();
      const clock = await call<{ now: number; uptime: number; ticked: number }>(id, 'clock');
      expect(clock.now).toBeGreaterThan(before - CLOCK_SLACK);
      expect(clock.now).toBeLessThan(Date.now() + CLOCK_SLACK);
      const missed = Math.min(...(ends[index] ?? [])) - Math.max(...(ends[0] ?? []));
      expect(clock.ticked).toBeGreaterThan(0);
      expect(clock.ticked).toBeLessThan(clock.uptime - missed + CLOCK_SLACK);
    }
  });

  test('connections to the outside end, also those with TLS, and within the sandbox they go on', async () => {
    const [original = [], ...forks] = await callEach<number[]>('ends');
    for (const end of original) {
      expect(end).toBeGreaterThan(times.asked - CLOCK_SLACK);
      expect(end).toBeLessThan(times.saved + NOTICED_WITHIN);
    }
    for (const end of forks.flat()) {
      expect(end).toBeGreaterThan(times.saved - CLOCK_SLACK);
      expect(end).toBeLessThan(times.forked + NOTICED_WITHIN);
    }
    expect(await callEach('inside')).toEqual(['open', 'open', 'open']);
  });

  test('a TLS session is resumed by a handshake in each', async () => {
    expect(await callEach('secure')).toEqual(all.map(() => ({ resumed: true })));
  });

  test('each has its token, and that of the original works only in the original', async () => {
    interface Credentials {
      readonly held: readonly number[];
      readonly given: readonly number[];
      readonly tokens: readonly string[];
    }
    const credentials = await callEach<Credentials>('credentials');
    expect(credentials.map(({ held }) => held)).toEqual([[200], [401], [401]]);
    expect(credentials.map(({ given }) => given)).toEqual([[200], [200], [200]]);
    expect(new Set(credentials.flatMap(({ tokens }) => tokens)).size).toBe(3);
  });

  test('pids stay, the host name is new, and variables of a program are those of the original', async () => {
    const identities = await callEach<{ pids: number[]; hostname: string; variable: string }>('identity');
    const [original] = all;
    const pids = identities[0]?.pids;
    expect(identities).toEqual(all.map((id) => ({ pids, hostname: id, variable: original })));
    expect(await shellEach('echo $SANDBOX_ID')).toEqual(all);
  });

  test('temporary files are there, also removed ones that are open, and are independent', async () => {
    await shell(all[1], 'echo changed > /tmp/kept');
    expect(await shellEach('cat /tmp/kept')).toEqual(['kept', 'changed', 'kept']);
    // In /tmp, and in /workspace.
    expect(await callEach('removed')).toEqual(all.map(() => ['removed', 'removed']));
  });

  test('file locks are held in each, and are independent', async () => {
    const tryLocks =
      'for f in /tmp/lock /workspace/lock; do flock -n $f true && echo free || echo held; done';
    expect(await shellEach(tryLocks)).toEqual(all.map(() => 'held\nheld'));
    await call(all[1], 'unlock');
    expect(await shellEach(tryLocks)).toEqual(['held\nheld', 'free\nfree', 'held\nheld']);
  });

  test('the lease of a fork begins with the fork', async () => {
    const sandboxes = await Promise.all(all.map((id) => ask<Sandbox>('GET', `/v1/sandbox/${id}`)));
    const [original, ...forks] = sandboxes;
    for (const fork of forks) {
      expect(fork.ttl_seconds).toBe(3600);
      expect(Date.parse(fork.expires_at)).toBeGreaterThanOrEqual(Date.parse(fork.created_at) + 3_600_000);
      expect(Date.parse(fork.created_at)).toBeGreaterThan(times.saved - CLOCK_SLACK);
    }
    expect(Date.parse(original?.expires_at ?? '')).toBeLessThan(times.saved + 3_600_000);
  });
});
