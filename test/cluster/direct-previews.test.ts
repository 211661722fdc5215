/** The idle end of previews with a gateway that connects to the port of the app itself. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { ANNOTATIONS, LABELS } from '#constructs/names.ts';
import { previewName } from '#core/previews/preview-token.ts';
import { reap, runLifecyclePass } from '#handlers/ops/scheduled.ts';
import { type MadeRun, makeRun, startPreview } from '#test/host/support/runs.ts';
import { suite } from '#test/support/suite.ts';
import { type GatewayClient, gatewayClient } from './end-to-end/gateway-client.ts';
import { cluster, missing } from './fixture/cluster.ts';
import { type ClusterHost, openOnPods } from './hosts/cluster-hosts.ts';

/** A slow download, an event stream, a silent WebSocket, and a server that only its app calls. */
const APP = `
const { createServer } = require('http');
const { createHash } = require('crypto');
const { connect } = require('net');
const accept = (key) => createHash('sha1').update(key + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
const serve = (port, answer) => createServer(answer).on('upgrade', (request, socket) => {
  socket.on('error', () => {}).resume();
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n' +
    'Sec-WebSocket-Accept: ' + accept(request.headers['sec-websocket-key']) + '\\r\\n\\r\\n');
}).listen(port, '0.0.0.0');
const slowly = (type) => (request, response) => {
  response.writeHead(200, { 'content-type': type });
  const timer = setInterval(() => response.write('data: 1\\n\\n'), 200);
  response.write('data: 0\\n\\n');
  response.on('close', () => clearInterval(timer));
};
serve(3100, slowly('application/octet-stream'));
serve(3101, slowly('text/event-stream'));
serve(3102, (request, response) => response.end());
serve(3103, (request, response) => response.end()).on('listening', () => {
  const [own] = Object.values(require('os').networkInterfaces()).flat().filter((each) => !each.internal);
  for (const host of ['127.0.0.1', own.address]) connect(3103, host).on('error', () => {}).resume();
}).keepAliveTimeout = 600000;
`;

suite('direct previews', missing(), () => {
  let opened: ClusterHost;
  let visitor: GatewayClient;

  beforeAll(async () => {
    opened = await openOnPods({ environment: { Sandbox__Preview__Upstream: 'direct' } });
    const { gateway } = await cluster();
    visitor = gatewayClient(gateway.https.host, gateway.caFile);
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

  async function serve({ sandboxId }: MadeRun): Promise<void> {
    const server = { argv: ['node', '-e', APP], port: 3103 };
    expect((await call('PUT', `/v1/sandbox/${sandboxId}/servers/app`, server)).status).toBe(201);
    const wait = { timeout_ms: 30_000 };
    expect((await call('POST', `/v1/sandbox/${sandboxId}/ports/3103/wait`, wait)).status).toBe(200);
  }

  async function start({ runId }: MadeRun, port: number): Promise<{ token: string; url: string }> {
    const { preview_url: url, session_id: token } = await startPreview(opened.porthole, runId, port);
    return { token, url: url ?? '' };
  }

  async function expire(token: string): Promise<void> {
    const route = `httproute/${previewName(token)}`;
    const past = new Date(Date.now() - 60_000).toISOString();
    await opened.kubectl('annotate', route, '--overwrite', `${ANNOTATIONS.expiresAt}=${past}`);
    // Passes select routes by this label, and decide by the exact time.
    await opened.kubectl('label', route, `${LABELS.dueSlot}-`);
  }

  test('keeps a download, an event stream and a silent WebSocket, and ends what only its app calls', async () => {
    const { services } = opened.porthole.host;
    const [used, quiet] = [await makeRun(opened.porthole), await makeRun(opened.porthole)];
    // Before its server listens: the gateway's question whether it answers would be use.
    const unused = await start(quiet, 3103);
    await Promise.all([serve(used), serve(quiet)]);
    const download = await start(used, 3100);
    const events = await start(used, 3101);
    const silent = await start(used, 3102);

    const over = new AbortController();
    const streams = await Promise.all(
      [download, events].map(async ({ url }) =>
        (await visitor.fetch(url, { signal: over.signal })).body?.getReader(),
      ),
    );
    const socket = visitor.webSocket(silent.url.replace('https:', 'wss:'));
    await once(socket, 'open');
    try {
      for (const { token } of [download, events, silent, unused]) await expire(token);
      expect(await reap(services)).toMatchObject({ kept: 3, reaped: 1 });
      await runLifecyclePass({ ...services, life: { ...services.life, idle: 0 } });
      for (const stream of streams) expect((await stream?.read())?.done).toBe(false);
      expect(socket.readyState).toBe(socket.OPEN);
    } finally {
      over.abort();
      socket.terminate();
    }
    const states = await Promise.all(
      [used, quiet].map(async ({ sandboxId }) => (await call('GET', `/v1/sandbox/${sandboxId}`)).json()),
    );
    expect(states).toMatchObject([{ state: 'running' }, { state: 'stopped' }]);
    expect(await services.plane.find(unused.token)).toBeUndefined();
  }, 120_000);
});
