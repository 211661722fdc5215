/** Visitors behind real proxies on this machine that the host trusts. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { cacheFolder } from '#test/cluster/fixture/program-cache.ts';
import { freePort } from '#test/support/free-port.ts';
import { type Answer, callBy, startTestHost } from '#test/support/in-process-host.ts';
import { startNginx } from '#test/support/nginx.ts';
import { type Missing, suite } from '#test/support/suite.ts';
import { BOB, PEOPLE } from './support/people.ts';
import { PreviewVisitors } from './support/preview-visitors.ts';

const LIMIT = 3;
const CADDY = join(cacheFolder(), 'caddy-2.11.7/bin/caddy');

interface RunningProxy {
  readonly port: number;
  stop(): Promise<void>;
}

const hasNginx = (process.env['PATH'] ?? '')
  .split(delimiter)
  .some((folder) => existsSync(join(folder, 'nginx')));

/** Appends the address of its client to what the client itself has sent. */
async function openNginx(upstream: number): Promise<RunningProxy> {
  const nginx = await startNginx(upstream, {
    Host: '$http_host',
    'X-Forwarded-For': '$proxy_add_x_forwarded_for',
  });
  if (nginx === undefined) throw new Error('nginx does not start');
  return nginx;
}

/** Replaces what its client has sent. */
async function openCaddy(upstream: number): Promise<RunningProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'porthole-caddy-'));
  const port = await freePort();
  const file = join(folder, 'Caddyfile');
  await writeFile(file, `{\n\tadmin off\n}\nhttp://:${port} {\n\treverse_proxy 127.0.0.1:${upstream}\n}\n`);
  const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const child = spawn(CADDY, ['run', '--config', file, '--adapter', 'caddyfile'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  for await (const line of child.stderr) if (String(line).includes('serving initial configuration')) break;
  return {
    port,
    async stop() {
      child.kill();
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const PROXIES: readonly (readonly [
  name: string,
  missing: Missing,
  open: (upstream: number) => Promise<RunningProxy>,
  port: number,
])[] = [
  ['nginx', hasNginx ? undefined : 'nginx is not installed', openNginx, 3471],
  ['Caddy', existsSync(CADDY) ? undefined : 'Caddy is not in the cache', openCaddy, 3472],
];

for (const [name, missing, open, port] of PROXIES) {
  suite(`visitors behind ${name}`, missing, () => {
    let v: PreviewVisitors;
    let proxy: RunningProxy;

    beforeAll(async () => {
      const porthole = await startTestHost({
        ...PEOPLE,
        PORTHOLE_REQUEST_LIMITS: JSON.stringify({ wrong_secrets_per_minute: LIMIT }),
        PORTHOLE_TRUSTED_PROXIES: '127.0.0.1/32',
      });
      v = await PreviewVisitors.start(port, porthole);
      await v.setLevel('password', { password: 'open sesame' });
      proxy = await open(porthole.host.port);
    });
    afterAll(async () => {
      await proxy?.stop();
      await v?.porthole.end();
    });

    /** A request from this address, through the proxy unless it goes to another port. */
    const call = (
      client: string,
      method: string,
      path: string,
      options: { body?: unknown; host?: string; headers?: Record<string, string> } = {},
      to = proxy.port,
    ): Promise<Answer> =>
      callBy(
        (sent) => request({ host: '127.0.0.1', port: to, localAddress: client, ...sent }),
        method,
        path,
        { host: new URL(v.porthole.host.url).host, ...options },
      );
    const guess = (client: string, at: string, headers: Record<string, string> = {}, to = proxy.port) => {
      const body = { preview: v.preview.session_id, password: `guess ${at}` };
      return call(client, 'POST', '/api/open', { body, headers }, to);
    };
    const guessKey = (client: string, at: string, headers: Record<string, string> = {}) =>
      call(client, 'POST', '/api/session', { body: { key: `guess-number-${at}-of-a-key` }, headers });

    test('are limited one by one, for passwords and for keys', async () => {
      for (const [attempt, refusal] of [
        [guess, 403],
        [guessKey, 401],
      ] as const) {
        const statuses: number[] = [];
        for (let at = 0; at <= LIMIT; at += 1) statuses.push((await attempt('127.0.0.2', `${at}`)).status);
        expect(statuses).toEqual([...Array<number>(LIMIT).fill(refusal), 429]);
        expect((await attempt('127.0.0.3', 'other')).status).toBe(refusal);
      }
    });

    test('get no other limit by an address that they write themselves', async () => {
      const forged = ['203.0.113.9', '127.0.0.3', '127.0.0.1', '203.0.113.9, 127.0.0.1', 'unknown', '::1'];
      for (const [at, address] of forged.entries()) {
        const headers = { 'x-forwarded-for': address };
        expect((await guess('127.0.0.2', `forged ${at}`, headers)).status).toBe(429);
        expect((await guessKey('127.0.0.2', `forged-${at}`, headers)).status).toBe(429);
        // Past the proxy, from an address that is not trusted.
        const past = await guess('127.0.0.2', `past ${at}`, headers, v.porthole.host.port);
        expect(past.status).toBe(429);
      }
    });

    test('reach the app with their own address', async () => {
      await v.setLevel('link');
      const seen = async (headers: Record<string, string>) => {
        const answer = await call('127.0.0.4', 'GET', '/', { host: v.host, headers });
        return answer.json<{ headers: Record<string, string> }>().headers['x-forwarded-for'];
      };
      expect(await seen({})).toBe('127.0.0.4');
      expect(await seen({ 'x-forwarded-for': '203.0.113.9' })).toBe('127.0.0.4');
    });

    test('do not count as users of this machine', async () => {
      const answer = await call('127.0.0.1', 'GET', '/api/runs', {
        headers: { 'x-forwarded-for': '127.0.0.1' },
      });
      expect(answer.status).toBe(401);
      const own = await call('127.0.0.2', 'GET', '/api/runs', {
        headers: { authorization: `Bearer ${BOB}` },
      });
      expect(own.status).toBe(200);
    });
  });
}

test('a host does not start with what is no range of a proxy', async () => {
  const ranges = ['10.0.0.7', '0.0.0.0/0', '::/0', '10.0.0.0/33', 'proxy.example.com'];
  for (const range of ranges) {
    await expect(startTestHost({ PORTHOLE_TRUSTED_PROXIES: `10.1.0.0/16, ${range}` })).rejects.toThrow(
      `PORTHOLE_TRUSTED_PROXIES ▸ 1: "${range}" must be the address range of a proxy, e.g. 10.1.0.0/16, or 10.1.0.7/32 for one address`,
    );
  }
});
