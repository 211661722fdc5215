import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import WebSocket from 'ws';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { type Answer, call } from '#test/support/in-process-host.ts';
import { execute, serve } from './support/commands.ts';
import { type Callable, makeRun, startPreview, outcome, visit } from './support/runs.ts';
import { withGuests } from '#test/support/with-guests.ts';

describe('a host that is ended and started again', () => {
  let dataDir: string;
  let host: HostProcess;
  let porthole: Callable;
  const start = async (environment: Record<string, string> = {}) => {
    host = await startHostProcess({ dataDir, environment: { LOG_LEVEL: 'debug', ...environment } });
    const { port } = host;
    porthole = { call: (method, path, options) => call(port, method, path, options) };
  };
  const sandboxFolders = () => readdir(join(dataDir, 'sandboxes'));

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'porthole-run-'));
  });
  afterEach(async () => {
    await host.end('SIGKILL');
    const provider = withGuests(createLocalProvider({ dataDir }));
    for await (const id of provider.list()) await provider.destroy(id);
    await provider.close();
    await rm(dataDir, { recursive: true, force: true });
    await mkdir(dataDir);
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  /** Polls until the response matches; bounded, so that a failure is reported. */
  const eventually = async (ask: () => Promise<Answer>, wanted: (answer: Answer) => boolean) => {
    for (let tries = 0; ; tries += 1) {
      const answer = await ask();
      if (wanted(answer) || tries === 400) return answer;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  };
  const running = (sandboxId: string) =>
    eventually(
      () => porthole.call('GET', `/v1/sandbox/${sandboxId}/running`),
      (answer) => answer.status !== 200 || answer.json()['running'] === true,
    );

  test('prints commands to try, apart from what they do', async () => {
    await start();
    const [up, demo] = ['npx porthole up ../my-app', 'npm run demo'].map((command) =>
      host
        .output()
        .split('\n')
        .find((line) => line.includes(command)),
    );
    expect(up).toMatch(/^ {4}PORTHOLE_URL=\S+ npx porthole up \.\.\/my-app {2}your project/);
    expect(up?.indexOf('your project')).toBe(demo?.indexOf('a Vite project'));
  });

  test('ends with 0 on SIGTERM, and has run, files and preview after the next start, under the same URL', async () => {
    await start();
    const { runId, sandboxId, agentToken } = await makeRun(porthole);
    const { session_id } = await startPreview(porthole, runId, 3461);
    await porthole.call('PUT', `/v1/sandbox/${sandboxId}/file/workspace/kept`, { body: 'kept' });
    expect(await host.end('SIGTERM')).toBe(0);

    await start();
    expect((await running(sandboxId)).json()).toEqual({ running: true });
    expect((await porthole.call('GET', `/v1/sandbox/${sandboxId}/file/workspace/kept`)).text).toBe('kept');
    expect((await porthole.call('GET', `/api/runs/${runId}`, { token: agentToken })).status).toBe(200);
    expect(outcome(await visit(porthole, session_id, host.port))).toEqual([502, 'nothing_listens']);
    await serve(porthole, sandboxId, 3461, 'back again');
    expect((await visit(porthole, session_id, host.port)).text).toBe('back again');
    expect((await startPreview(porthole, runId, 3461)).session_id).toBe(session_id);
  });

  test('loses no answered creation on SIGTERM in the middle of 12, and leaves none half-made after the next start', async () => {
    await start();
    await makeRun(porthole);
    const answers = Array.from({ length: 12 }, () =>
      porthole.call('POST', '/api/runs', { body: {} }).catch(() => undefined),
    );
    await Promise.race(answers);
    expect(await host.end('SIGTERM')).toBe(0);
    const made = (await Promise.all(answers)).flatMap((answer) =>
      answer?.status === 201 ? [answer.json<{ run_id: string; sandbox_id: string }>()] : [],
    );
    expect(made.length).toBeGreaterThan(0);

    await start();
    const listed = (await porthole.call('GET', '/api/runs?limit=100')).json<{
      runs: { run_id: string; sandbox_id: string }[];
    }>().runs;
    expect(listed.map(({ run_id }) => run_id)).toEqual(
      expect.arrayContaining(made.map(({ run_id }) => run_id)),
    );
    for (const { sandbox_id } of listed)
      expect((await running(sandbox_id)).json()).toEqual({ running: true });
    expect((await sandboxFolders()).sort()).toEqual(listed.map(({ sandbox_id }) => sandbox_id).sort());
  });

  test('ends within seconds on SIGTERM although a WebSocket and an idle connection are open', async () => {
    await start();
    const { runId, sandboxId } = await makeRun(porthole);
    await serveWebSocket(porthole, sandboxId, 3462);
    const { session_id } = await startPreview(porthole, runId, 3462);
    const socket = new WebSocket(`ws://127.0.0.1:${host.port}/`, {
      headers: { host: `${session_id}-preview.localhost:${host.port}` },
    });
    await once(socket, 'open');
    const idle = connect(host.port, '127.0.0.1');
    await once(idle, 'connect');
    const closed = once(socket, 'close');
    expect(await host.end('SIGTERM')).toBe(0);
    await closed;
    idle.destroy();
  }, 20_000);

  test('adopts the sandbox, its server and its preview at the next start after kill -9', async () => {
    await start();
    const { runId, sandboxId } = await makeRun(porthole);
    await serve(porthole, sandboxId, 3463, 'never stopped');
    const { session_id } = await startPreview(porthole, runId, 3463);
    expect(await host.end('SIGKILL')).toBe('SIGKILL');

    await start();
    expect((await visit(porthole, session_id, host.port)).text).toBe('never stopped');
    expect((await startPreview(porthole, runId, 3463)).session_id).toBe(session_id);
    expect((await execute(porthole, sandboxId, ['echo', 'adopted'])).stdout.toString()).toBe('adopted\n');
    expect(await sandboxFolders()).toEqual([sandboxId]);
  });

  test('leaves nothing half-made at the next start after kill -9 in the middle of creations', async () => {
    await start();
    await makeRun(porthole);
    const answers = Array.from({ length: 8 }, () =>
      porthole.call('POST', '/api/runs', { body: {} }).catch(() => undefined),
    );
    await Promise.race(answers);
    await host.end('SIGKILL');
    const made = (await Promise.all(answers)).flatMap((answer) =>
      answer?.status === 201 ? [answer.json<{ run_id: string }>().run_id] : [],
    );

    await start();
    const listed = (await porthole.call('GET', '/api/runs')).json<{
      runs: { run_id: string; sandbox_id: string }[];
    }>().runs;
    expect(listed.map(({ run_id }) => run_id)).toEqual(expect.arrayContaining(made));
    // A run may be listed after its creation was cut off at the end, but no caller received it: its
    // sandbox is gone.
    const promised = listed.filter(({ run_id }) => made.includes(run_id)).map(({ sandbox_id }) => sandbox_id);
    for (const id of promised) expect((await running(id)).json()).toEqual({ running: true });
    const alive = async () => {
      // Asking whether a missing sandbox runs would create it.
      const answers = await Promise.all(
        listed.map(({ sandbox_id }) => porthole.call('GET', `/v1/sandbox/${sandbox_id}`)),
      );
      return listed.flatMap(({ sandbox_id }, at) => (answers[at]?.status === 200 ? [sandbox_id] : [])).sort();
    };
    for (let tries = 0; tries < 400; tries += 1) {
      if (String((await sandboxFolders()).sort()) === String(await alive())) break;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    expect((await sandboxFolders()).sort()).toEqual(await alive());
  });

  test('removes an orphan sandbox without a record at the start, and serves nothing for a half-written preview', async () => {
    const orphan = withGuests(createLocalProvider({ dataDir }));
    await orphan.create({ id: 'straystray' });
    await orphan.close();
    await mkdir(join(dataDir, 'previews'), { recursive: true });
    await writeFile(join(dataDir, 'previews', 'preview-00000000000000000000.json'), '{"token":');
    await writeFile(join(dataDir, 'previews', 'preview-11111111111111111111.json.half'), '{}');
    await start();
    for (let tries = 0; tries < 400 && (await sandboxFolders()).length > 0; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 25));
    expect(await sandboxFolders()).toEqual([]);
    // The log line follows the action.
    for (let tries = 0; tries < 400 && !host.output().includes('orphaned sandbox removed'); tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 25));
    expect(host.output()).toContain('orphaned sandbox removed');
    const { runId } = await makeRun(porthole);
    expect((await porthole.call('GET', `/api/runs/${runId}/sandbox/port-forward`)).json()).toEqual([]);
  });

  test('keeps a stopped URL at 410 after a restart, and never undoes an explicit stop', async () => {
    await start();
    const { runId } = await makeRun(porthole);
    const { session_id } = await startPreview(porthole, runId, 3000);
    await porthole.call('DELETE', `/api/runs/${runId}/sandbox/port-forward/${session_id}`);
    await host.end('SIGKILL');
    await start();
    expect(outcome(await visit(porthole, session_id, host.port))).toEqual([410, 'stopped']);
    expect((await startPreview(porthole, runId, 3000)).session_id).not.toBe(session_id);
  });

  test('logs one JSON line a request, under the id that the answer carries, and never the path', async () => {
    await start();
    const answer = await porthole.call('POST', '/api/runs', { body: { title: 5 } });
    const id = answer.headers['x-request-id'];
    expect(id).toMatch(/^[\w-]{8,64}$/);
    await porthole.call('GET', '/health');
    expect(await host.end()).toBe(0);
    const lines = host
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.find(({ request_id }) => request_id === id)).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      operation: 'createRun',
      status: 400,
      ms: expect.any(Number),
      request_id: id,
      msg: 'request',
    });
    expect(lines.filter(({ operation }) => operation === 'healthCheck')).toMatchObject([{ level: 'debug' }]);
  });

  test('/metrics counts requests by operation and status, and previews', async () => {
    await start();
    const { runId } = await makeRun(porthole);
    const { session_id } = await startPreview(porthole, runId, 3000);
    await visit(porthole, session_id, host.port);
    await porthole.call('GET', '/api/runs/run_nothere');
    const { text, headers } = await porthole.call('GET', '/metrics');
    expect(headers['content-type']).toMatch(/^text\/plain/);
    expect(text).toContain('porthole_http_requests_total{operation="createRun",status="201"} 1');
    expect(text).toContain('porthole_http_requests_total{operation="getRun",status="404"} 1');
    expect(text).toContain('porthole_preview_requests_total{status="nothing_listens"} 1');
    expect(text).toContain('porthole_previews 1');
  });
});

/** A WebSocket server without a library: it completes the handshake and then sends nothing. */
async function serveWebSocket(porthole: Callable, sandboxId: string, port: number): Promise<void> {
  const program = `
    const { createHash } = require('node:crypto');
    require('node:http').createServer().on('upgrade', (q, s) => {
      const accept = createHash('sha1').update(q.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
      s.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n');
      s.on('error', () => {});
    }).listen(${port}, '127.0.0.1', () => require('node:fs').writeFileSync('up', ''));`;
  const script =
    'node -e "$1" >/dev/null 2>&1 </dev/null & n=0; while [ ! -e up ] && [ $n -lt 500 ]; do sleep 0.02; n=$((n+1)); done; [ -e up ]';
  const { exitCode } = await execute(porthole, sandboxId, ['sh', '-c', script, 'sh', program]);
  if (exitCode !== 0) throw new Error('no WebSocket server');
}
