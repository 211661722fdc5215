/**
 * Previews of servers on loopback, through the cluster's gateway and the guest, and calls of the
 * guest under load.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ANNOTATIONS, LABELS } from '#constructs/names.ts';
import { previewName } from '#core/previews/preview-token.ts';
import { reap, runLifecyclePass } from '#handlers/ops/scheduled.ts';
import { type MadeRun, makeRun, startPreview } from '#test/host/support/runs.ts';
import { repetitions, suite } from '#test/support/suite.ts';
import { cluster, missing } from './fixture/cluster.ts';
import { authorityFiles, makeAuthority } from './fixture/certificate-authority.ts';
import { type GatewayClient, gatewayClient } from './end-to-end/gateway-client.ts';
import { type ClusterHost, openOnPods } from './hosts/cluster-hosts.ts';

/** Redirects with an absolute URL like Flask and FastAPI, forbids frames, echoes form posts. */
const APP = `require('http').createServer((q, r) => {
  r.setHeader('x-frame-options', 'DENY');
  r.setHeader('content-security-policy', "frame-ancestors 'none'");
  if (q.url === '/old') return r.writeHead(302, { location: 'http://' + q.headers.host + '/new' }).end();
  if (q.method === 'POST') return q.pipe(r);
  r.end('page of ' + q.headers.host);
}).listen(process.env.PORT, process.env.HOST)`;

const TLS_APP = `require('https').createServer().listen(process.env.PORT, process.env.HOST)`;
/** Like Go's and nginx: answers plain HTTP on the port of TLS. */
const TLS_APP_400 = `require('net').createServer((socket) => socket.on('error', () => {}).once('data', () =>
  socket.end('HTTP/1.0 400 Bad Request\\r\\n\\r\\nClient sent an HTTP request to an HTTPS server.\\n')
)).listen(process.env.PORT, process.env.HOST)`;
const GREETER = `require('net').createServer((socket) => socket.on('error', () => {}).write('220 mail.test ready\\r\\n')).listen(process.env.PORT, process.env.HOST)`;
const HANGER = `require('net').createServer((socket) => socket.destroy()).listen(process.env.PORT, process.env.HOST)`;

const UNTRUSTED = expect.stringMatching(
  /^The gateway's certificate is not signed by the authority in PORTHOLE_GATEWAY_CA \([A-Z_]+\): set it to /,
);

suite('previews through the guest', missing(), () => {
  let opened: ClusterHost;
  let visitor: GatewayClient;
  let run: MadeRun;

  beforeAll(async () => {
    opened = await openOnPods();
    const { gateway } = await cluster();
    visitor = gatewayClient(gateway.https.host, gateway.caFile);
    run = await makeRun(opened.porthole);
  }, 300_000);
  afterAll(async () => {
    await visitor?.close();
    await opened?.end();
  }, 120_000);

  const call = (method: string, path: string, body?: unknown) =>
    opened.porthole.call(method, path, {
      headers: { accept: 'application/json' },
      ...(body !== undefined && { body }),
    });
  const start = async (port: number, { runId } = run) => {
    const { preview_url, ...preview } = await startPreview(opened.porthole, runId, port);
    if (preview_url === null) throw new Error('previews have no URLs here');
    return { ...preview, url: preview_url };
  };
  const serve = async (port: number, host: string, of = run, app = APP) => {
    const server = { argv: ['node', '-e', app], env: { HOST: host }, port };
    const declared = await call('PUT', `/v1/sandbox/${of.sandboxId}/servers/s${port}`, server);
    expect(declared.status).toBe(201);
    const listening = await call('POST', `/v1/sandbox/${of.sandboxId}/ports/${port}/wait`, {
      timeout_ms: 30_000,
    });
    expect(listening.status).toBe(200);
    return start(port, of);
  };

  test.each([
    [3100, '127.0.0.1'],
    [3101, '::1'],
  ])(
    'serves port %i of %s, with redirects, posts and frames',
    async (port, host) => {
      const { ready, url } = await serve(port, host);
      expect(ready).toBe(true);
      const page = await visitor.fetch(url);
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining(`localhost:${port}`)]);
      expect(page.headers.get('x-frame-options')).toBeNull();
      expect(page.headers.get('content-security-policy')).toContain('frame-ancestors http://localhost');
      const moved = await visitor.fetch(`${url}/old`);
      expect(new URL(moved.headers.get('location') ?? '', url).href).toBe(`${url}/new`);
      const form = { method: 'POST', body: 'a=1', headers: { origin: new URL(url).origin } };
      expect(await (await visitor.fetch(url, form)).text()).toBe('a=1');
    },
    60_000,
  );

  test('reaches another port below the host, maps localhost, and says how to report it', async () => {
    const env = { PORTHOLE_LOCALHOST: 'map' };
    const { id } = (await call('POST', '/v1/sandbox', { env })).json<{ id: string }>();
    const both = await makeRun(opened.porthole, undefined, { sandbox_id: id });
    const page = `require('http').createServer((q, r) => r.setHeader('content-type', 'text/html').end('<head><p>page')).listen(process.env.PORT)`;
    const { url } = await serve(3110, '127.0.0.1', both, page);
    await serve(3111, '127.0.0.1', both);
    const text = async (path: string) => (await visitor.fetch(`${url}${path}`)).text();
    expect(await text('/.porthole/3111/')).toContain('localhost:3111');
    const moved = await visitor.fetch(`${url}/.porthole/3111/old`);
    expect(new URL(moved.headers.get('location') ?? '', url).href).toBe(`${url}/.porthole/3111/new`);
    expect((await visitor.fetch(`${url}/.porthole/3112/`)).headers.get('x-porthole-status')).toBe('not_open');
    expect(await visitor.page(url)).toMatch(/^<head><script src="[^"]+" data-port="3110"><\/script><p>page$/);
    expect(await text('/.porthole/localhost.js')).toContain('/.porthole/');
    expect(await text('/.porthole/report')).toContain('Report this preview');
    await call('DELETE', `/v1/sandbox/${id}`);
  }, 120_000);

  test('shows our page once the server has stopped', async () => {
    const { url } = await start(3100);
    await call('POST', `/v1/sandbox/${run.sandboxId}/servers/s3100/stop`);
    const page = await visitor.fetch(url);
    expect([page.status, page.headers.get('x-porthole-status')]).toEqual([502, 'nothing_listens']);
  }, 60_000);

  test.each([
    [3300, 'closes', 'speaks TLS', TLS_APP, /^Port 3300 speaks HTTPS: start it with plain HTTP/],
    [3301, 'answers', 'speaks TLS', TLS_APP_400, /^Port 3301 speaks HTTPS: start it with plain HTTP/],
    [3302, 'greets', 'does not speak HTTP', GREETER, /^Port 3302 does not answer in valid HTTP/],
    [3303, 'hangs up', 'does not speak HTTP', HANGER, /^Port 3303 closes connections/],
  ])(
    'names the server of port %i, which %s and %s',
    async (port, _how, _what, app, advice) => {
      const { ready, reason, session_id } = await serve(port, '127.0.0.1', run, app);
      expect([ready, reason]).toEqual([false, 'not_http']);
      const doctor = await call('GET', `/api/runs/${run.runId}/sandbox/doctor?port=${port}`);
      expect(doctor.json()).toMatchObject({
        ports: [{ port, ready: false, advice: expect.stringMatching(advice) }],
      });
      // A run has three previews at most.
      await call('DELETE', `/api/runs/${run.runId}/sandbox/port-forward/${session_id}`);
    },
    60_000,
  );

  const gatewayCheck = async ({ porthole }: ClusterHost) => {
    const { checks } = (await porthole.call('GET', '/api/installation/checks')).json<{
      checks: { name: string }[];
    }>();
    return checks.find(({ name }) => name === 'gateway');
  };

  test('counts what its visitors transfer as usage', async () => {
    const visited = await makeRun(opened.porthole);
    const { url } = await serve(3130, '127.0.0.1', visited);
    await visitor.page(url);
    await opened.porthole.host.lifecycle();
    const { usage } = (await call('GET', `/v1/usage?by=sandbox&sandbox=${visited.sandboxId}`)).json<{
      usage: { preview_bytes: number; memory_gib_s: number }[];
    }>();
    expect(usage).toEqual([expect.objectContaining({ sandbox: visited.sandboxId })]);
    expect(usage[0]?.preview_bytes).toBeGreaterThan(10);
    expect(usage[0]?.memory_gib_s).toBeGreaterThan(0);
    await call('DELETE', `/v1/sandbox/${visited.sandboxId}`);
  }, 60_000);

  test('is asked by the checks of the installation', async () => {
    expect(await gatewayCheck(opened)).toMatchObject({
      state: 'ok',
      detail: expect.stringMatching(/^answers at 1 address, certificate valid until 20/),
    });
  });

  test('names the setting for a gateway that is not trusted, at once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'porthole-authority-'));
    try {
      await makeAuthority(folder);
      const { certificate, key } = authorityFiles(folder);
      await expect(openOnPods({ environment: { PORTHOLE_GATEWAY_CA: key } })).rejects.toThrow(
        `PORTHOLE_GATEWAY_CA: ${key} is not the PEM file of a certificate`,
      );
      const own = await openOnPods({ environment: { PORTHOLE_GATEWAY_CA: certificate } });
      try {
        const { runId } = await makeRun(own.porthole);
        const began = performance.now();
        const started = await startPreview(own.porthole, runId, 3400);
        expect(performance.now() - began).toBeLessThan(5_000);
        expect(started).toMatchObject({ ready: false, reason: 'gateway_untrusted', problem: UNTRUSTED });
        const { ok, warnings } = (await own.porthole.call('GET', '/health')).json<{
          ok: boolean;
          warnings: string[];
        }>();
        expect([ok, warnings]).toEqual([true, [UNTRUSTED]]);
        expect(await gatewayCheck(own)).toMatchObject({ state: 'failed', detail: UNTRUSTED });
      } finally {
        await own.end();
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  }, 120_000);

  const calls = repetitions(10_000, 200, 50);

  test(`cuts none of ${calls} execs and file reads`, async () => {
    const base = `/v1/sandbox/${run.sandboxId}`;
    const content = 'x'.repeat(65_536);
    await call('PUT', `${base}/file/workspace/content`, content);
    let left = calls;
    const faults: unknown[] = [];
    const work = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const isRead = left % 2 === 0;
        const answer = isRead
          ? await call('GET', `${base}/file/workspace/content`)
          : await call('POST', `${base}/exec`, { argv: ['cat', 'content'] });
        const text = isRead ? answer.text : answer.json<{ stdout: string }>().stdout;
        if (text !== content) faults.push([isRead, answer.status, answer.text.slice(0, 300)]);
      }
    };
    await Promise.all(Array.from({ length: 4 }, work));
    expect(faults).toEqual([]);
  }, 3_600_000);

  test('keeps a used preview and its sandbox past their idle times, and ends an unused one', async () => {
    const { services } = opened.porthole.host;
    const [used, quiet] = [await makeRun(opened.porthole), await makeRun(opened.porthole)];
    const [kept, ended] = [await serve(3200, '127.0.0.1', used), await start(3201, quiet)];
    expect((await visitor.fetch(kept.url)).status).toBe(200);
    for (const { session_id } of [kept, ended]) {
      const route = `httproute/${previewName(session_id)}`;
      const past = new Date(Date.now() - 60_000).toISOString();
      await opened.kubectl('annotate', route, '--overwrite', `${ANNOTATIONS.expiresAt}=${past}`);
      // Passes select routes by this label, and decide by the exact time.
      await opened.kubectl('label', route, `${LABELS.dueSlot}-`);
    }
    expect(await reap(services)).toMatchObject({ kept: 1, reaped: 1 });
    await runLifecyclePass({ ...services, life: { ...services.life, idle: 0 } });
    expect((await visitor.fetch(kept.url)).status).toBe(200);
    expect(await services.plane.find(ended.session_id)).toBeUndefined();
    const states = await Promise.all(
      [used, quiet].map(async ({ sandboxId }) => (await call('GET', `/v1/sandbox/${sandboxId}`)).json()),
    );
    expect(states).toMatchObject([{ state: 'running' }, { state: 'stopped' }]);
  }, 60_000);
});
