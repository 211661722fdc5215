import { execFileSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '#test/support/postgres.ts';
import { repetitions, suite } from '#test/support/suite.ts';

const ROOT = join(import.meta.dirname, '../..');
const KEY = 'service-key-of-the-upgrade';
const SIGNING_KEYS = JSON.stringify({
  keys: [{ kty: 'oct', kid: 'one', k: Buffer.alloc(32, 7).toString('base64url') }],
});
const WORKERS = 4;
const PATIENT = 600_000;

const git = (...args: string[]): Buffer =>
  execFileSync('git', args, { cwd: ROOT, maxBuffer: 256 * 1_024 * 1_024 });

/** The commit that made the last release: the first one with its version. */
function releaseCommit(): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const setVersion = `-S"version": "${version}"`;
  const found = git('log', '--format=%H', setVersion, '--', 'package.json').toString().trim().split('\n');
  const commit = found.at(-1);
  if (!commit) throw new Error('the history lacks the commit of the last release: clone without --depth');
  return commit;
}

suite('this version and the last release on one PostgreSQL', postgresMissing, () => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-upgrade-'));
  const hosts = new Set<HostProcess>();
  let postgres: TestPostgres;

  beforeAll(async () => {
    postgres = await startPostgres();
    const released = join(folder, 'released');
    execFileSync('mkdir', [released]);
    execFileSync('tar', ['x', '-C', released], { input: git('archive', releaseCommit()) });
    symlinkSync(join(ROOT, 'node_modules'), join(released, 'node_modules'));
  }, PATIENT);
  afterAll(async () => {
    await Promise.all([...hosts].map((host) => host.end()));
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }, PATIENT);

  async function start(version: 'released' | 'this'): Promise<HostProcess> {
    const host = await startHostProcess({
      dataDir: mkdtempSync(join(folder, 'data-')),
      ...(version === 'released' && { main: join(folder, 'released/host/main.ts') }),
      environment: {
        DATABASE_URL: postgres.url,
        PORTHOLE_SIGNING_KEYS: SIGNING_KEYS,
        SANDBOX_API_KEY: KEY,
        LOG_LEVEL: 'warn',
      },
    });
    hosts.add(host);
    return host;
  }

  test(
    'lose no call while pods are replaced one by one, forwards and back',
    async () => {
      /** What a Service leads to: a host leaves it before it ends. */
      const serving: HostProcess[] = [];
      const calling = new Map<HostProcess, number>();
      const faults: string[] = [];
      const events = new EventEmitter();
      let calls = 0;
      let turn = 0;

      const call = async (method: string, path: string, body?: object): Promise<unknown> => {
        const host = serving[turn++ % serving.length];
        if (host === undefined) throw new Error('no host serves');
        calling.set(host, (calling.get(host) ?? 0) + 1);
        calls += 1;
        try {
          const response = await fetch(`http://127.0.0.1:${host.port}${path}`, {
            method,
            headers: {
              authorization: `Bearer ${KEY}`,
              ...(body !== undefined && { 'content-type': 'application/json' }),
            },
            ...(body !== undefined && { body: JSON.stringify(body) }),
          });
          const text = await response.text();
          if (!response.ok) faults.push(`${method} ${path}: ${response.status} ${text}`);
          return text === '' ? undefined : JSON.parse(text);
        } catch (error) {
          faults.push(`${method} ${path}: ${String((error as Error).cause ?? error)}`);
          return undefined;
        } finally {
          calling.set(host, (calling.get(host) ?? 0) - 1);
          events.emit('called');
        }
      };
      const load = async (worker: number, until: () => boolean): Promise<void> => {
        for (let round = 0; !until(); round += 1) {
          const name = `image-${worker}-${round}`;
          await call('POST', '/api/images', { name, reference: 'localhost/porthole/node:1' });
          await call('GET', '/api/images');
          // Written by one version, found and removed by another: 404 if it is lost.
          await call('DELETE', `/api/images/${name}`);
          await call('GET', '/api/runs');
          await call('GET', '/v1/sandbox');
          if (round % 40 !== 0) continue;
          const run = (await call('POST', '/api/runs', {})) as { run_id?: string } | undefined;
          await call('GET', `/api/runs/${run?.run_id}`);
        }
      };
      const join = async (version: 'released' | 'this'): Promise<HostProcess> => {
        const host = await start(version);
        serving.push(host);
        return host;
      };
      const leave = async (host: HostProcess): Promise<void> => {
        serving.splice(serving.indexOf(host), 1);
        // The grace of preStop, without its fixed time.
        while ((calling.get(host) ?? 0) > 0) await once(events, 'called');
        expect(await host.end()).toBe(0);
        hosts.delete(host);
      };

      const target = repetitions(10_000, 2_000);
      let old = [await join('released'), await join('released')];
      let isDone = false;
      const workers = Array.from({ length: WORKERS }, (_, worker) => load(worker, () => isDone));
      const loaded = async (share: number): Promise<void> => {
        while (calls < target * share && faults.length === 0) await once(events, 'called');
      };
      const replace = async (version: 'released' | 'this', from: number): Promise<void> => {
        const next: HostProcess[] = [];
        for (const [at, host] of old.entries()) {
          next.push(await join(version));
          // Both versions serve.
          await loaded(from + (at + 1) * 0.15);
          await leave(host);
        }
        old = next;
      };
      try {
        await loaded(0.1);
        await replace('this', 0.1);
        await loaded(0.5);
        // Hosts of the last release start on the schema of this version.
        await replace('released', 0.5);
        await loaded(1);
      } finally {
        isDone = true;
        await Promise.all(workers);
      }
      expect(faults).toEqual([]);
      expect(calls).toBeGreaterThanOrEqual(target);
    },
    PATIENT,
  );
});
