import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ProcessInfo } from '#protocol/guest/processes-protocol.ts';
import type { ServerInfo } from '#protocol/guest/servers-protocol.ts';
import type { Answer, TestHost } from '#test/support/in-process-host.ts';
import { type EventStream, openEventStream } from '#test/host/support/event-stream.ts';
import { eventually } from './sandbox-provider.contract.ts';
import { ALICE, BOB } from '#test/host/support/people.ts';
import { type MadeRun, makeRun } from '#test/host/support/runs.ts';

const PAGE = 'require("http").createServer((_, r) => r.end("hi")).listen(process.env.PORT, "127.0.0.1")';

interface Line {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}
const events = (text: string): Line[] =>
  text
    .split('\n\n')
    .map((block) => Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s, 2))))
    .filter((fields) => fields['event'] !== undefined)
    .map(({ event, data, id }) => ({ event, data, id }));
const printed = (lines: readonly Line[], stream = 'stdout'): string =>
  lines
    .filter(({ event }) => event === stream)
    .map(({ data }) => Buffer.from(data, 'base64').toString())
    .join('');

export interface ProcessesHost {
  readonly porthole: TestHost;
  end(): Promise<void>;
}

/** Processes, servers and ports over HTTP, for callers of `PEOPLE`, on the sandboxes of `open`. */
export function processesContract(open: () => Promise<ProcessesHost>): void {
  let opened: ProcessesHost;
  let porthole: TestHost;
  let run: MadeRun;
  let base: string;

  beforeAll(async () => {
    opened = await open();
    ({ porthole } = opened);
    run = await makeRun(porthole, ALICE);
    base = `/v1/sandbox/${run.sandboxId}`;
  }, 300_000);
  afterAll(() => opened?.end(), 120_000);

  const ask = (method: string, path: string, body?: unknown, token: string = ALICE): Promise<Answer> =>
    porthole.call(method, `${base}${path}`, { token, body });
  const start = async (body: object, token?: string): Promise<ProcessInfo> => {
    const answer = await ask('POST', '/processes', body, token);
    if (answer.status !== 201) throw new Error(`not started: ${answer.status} ${answer.text}`);
    return answer.json<ProcessInfo>();
  };
  const ended = async ({ id }: ProcessInfo): Promise<ProcessInfo> =>
    (await ask('POST', `/processes/${id}/wait`, {})).json<ProcessInfo>();
  describe('processes', () => {
    test('tell their output at cursors, and their exit', async () => {
      const process = await start({ command: 'echo one; echo two >&2; exit 3', name: 'counts' });
      expect(process).toMatchObject({
        name: 'counts',
        cwd: '/workspace',
        started_by: { kind: 'person', id: 'alice' },
      });
      const { state, exit } = await ended(process);
      expect({ state, code: exit?.code, reason: exit?.reason }).toEqual({
        state: 'exited',
        code: 3,
        reason: 'exited',
      });
      const lines = events((await ask('GET', `/processes/${process.id}/output`)).text);
      expect([printed(lines), printed(lines, 'stderr'), lines.at(-1)?.event]).toEqual([
        'one\n',
        'two\n',
        'exit',
      ]);
      const [first] = lines;
      const rest = events((await ask('GET', `/processes/${process.id}/output?since=${first?.id}`)).text);
      expect(rest).toEqual(lines.slice(1));
    });

    test('take input until their end, and refuse it afterwards with the exit', async () => {
      const process = await start({ argv: ['cat'], stdin: true });
      const url = `${base}/processes/${process.id}/input`;
      const input = (path: string, body: string) => porthole.call('POST', path, { token: ALICE, body });
      expect((await input(`${url}?eof=true`, 'hello')).json()).toEqual({ bytes: 5 });
      await ended(process);
      const { status, json } = await input(url, 'again');
      expect([status, json()]).toEqual([
        409,
        expect.objectContaining({ code: 'process_exited', exit: expect.objectContaining({ code: 0 }) }),
      ]);
      expect(printed(events((await ask('GET', `/processes/${process.id}/output`)).text))).toBe('hello');
    });

    test('follow their output until the exit, and are ended by signals', async () => {
      const process = await start({ command: 'echo up; exec sleep 600' });
      const following = ask('GET', `/processes/${process.id}/output?follow=true`);
      expect((await ask('POST', `/processes/${process.id}/wait`, { timeout_ms: 1 })).json()).toMatchObject({
        code: 'wait_timed_out',
      });
      const up = async () =>
        printed(events((await ask('GET', `/processes/${process.id}/output`)).text)) === 'up\n';
      expect(await eventually(up)).toBe(true);
      expect((await ask('POST', `/processes/${process.id}/signal`, { signal: 'SIGINT' })).status).toBe(200);
      const lines = events((await following).text);
      expect(lines.map(({ event }) => event)).toEqual(['stdout', 'exit']);
      expect(JSON.parse(lines[1]?.data ?? '')).toMatchObject({ signal: 'SIGINT', reason: 'killed' });
    });

    test('are listed, and removed with their output', async () => {
      const process = await start({ argv: ['sleep', '600'] });
      const ids = async () =>
        (await ask('GET', '/processes')).json<{ processes: ProcessInfo[] }>().processes.map(({ id }) => id);
      expect(await ids()).toContain(process.id);
      expect((await ask('DELETE', `/processes/${process.id}`)).status).toBe(204);
      expect(await ids()).not.toContain(process.id);
    });

    test('have the environment of the sandbox, and of the request', async () => {
      const made = await porthole.call('POST', '/v1/sandbox', {
        token: ALICE,
        body: { env: { A: 'sandbox', B: 'sandbox' } },
      });
      const { id } = made.json<{ id: string }>();
      const path = `/v1/sandbox/${id}/processes`;
      const body = { command: 'echo $A $B', env: { B: 'request' } };
      const process = (await porthole.call('POST', path, { token: ALICE, body })).json<ProcessInfo>();
      expect(JSON.stringify(process)).not.toContain('request');
      await porthole.call('POST', `${path}/${process.id}/wait`, { token: ALICE, body: {} });
      const output = await porthole.call('GET', `${path}/${process.id}/output`, { token: ALICE });
      expect(printed(events(output.text))).toBe('sandbox request\n');
    });

    test('say who started them, whatever a body says', async () => {
      const byAgent = await start({ argv: ['true'] }, run.agentToken);
      expect(byAgent.started_by).toEqual({ kind: 'agent', id: run.runId });
      const forged = await ask('POST', '/processes', {
        argv: ['true'],
        started_by: { kind: 'person', id: 'bob' },
      });
      expect([forged.status, forged.text]).toEqual([400, expect.stringContaining('started_by')]);
    });

    test.each<[string, string, string, unknown, number, string]>([
      ['an unknown process', 'GET', '/processes/nope', undefined, 404, 'process_not_found'],
      ['an id that none can have', 'GET', '/processes/a%20b', undefined, 404, 'process_not_found'],
      ['neither argv nor command', 'POST', '/processes', {}, 400, 'invalid_request'],
      ['both of them', 'POST', '/processes', { argv: ['a'], command: 'a' }, 400, 'invalid_request'],
      ['a folder outside', 'POST', '/processes', { argv: ['a'], cwd: '/etc' }, 403, 'invalid_request'],
      ['an unknown server', 'GET', '/servers/nope', undefined, 404, 'server_not_found'],
      ['a name that no server can have', 'GET', '/servers/No', undefined, 400, 'invalid_request'],
      ['a port that does not come', 'POST', '/ports/4999/wait', { timeout_ms: 1 }, 408, 'wait_timed_out'],
    ])('refuse %s', async (_name, method, path, body, status, code) => {
      const answer = await ask(method, path, body);
      expect([answer.status, answer.json()]).toEqual([status, expect.objectContaining({ code })]);
    });

    test('list the existing processes in a 404', async () => {
      const process = await start({ argv: ['true'] });
      const { existing } = (await ask('GET', '/processes/nope')).json<{ existing: string[] }>();
      expect(existing).toContain(process.id);
    });

    test('are hidden from other users, and a delegate with a list of commands has only its own', async () => {
      const process = await start({ argv: ['cat'], stdin: true });
      expect((await ask('GET', `/processes/${process.id}`, undefined, BOB)).status).toBe(404);
      const delegated = await ask('POST', '/delegate', { scopes: ['exec'], commands: ['true'] });
      const { token } = delegated.json<{ token: string }>();
      expect((await ask('POST', '/processes', { argv: ['cat'] }, token)).status).toBe(403);
      expect((await ask('POST', '/processes', { command: 'true' }, token)).status).toBe(403);
      const own = await start({ argv: ['true'] }, token);
      expect((await ask('POST', `/processes/${process.id}/signal`, {}, token)).status).toBe(404);
      expect((await ask('GET', `/processes/${own.id}`, undefined, token)).status).toBe(200);
      const { processes } = (await ask('GET', '/processes', undefined, token)).json<{
        processes: ProcessInfo[];
      }>();
      expect(processes.map(({ id }) => id)).toEqual([own.id]);
    });
  });

  describe('servers and ports', () => {
    const put = (name: string, body: object) => ask('PUT', `/servers/${name}`, body);
    const get = async (name: string) => (await ask('GET', `/servers/${name}`)).json<ServerInfo>();
    const web = { argv: ['node', '-e', PAGE], port: 3100, restart: 'always' };

    test('declare a server once, and keep it over a resume', async () => {
      const statuses = [(await put('web', web)).status, (await put('web', web)).status];
      const other = await put('web', { ...web, port: 3101 });
      expect([...statuses, other.status, other.json()['code']]).toEqual([201, 200, 409, 'server_exists']);
      const waited = await ask('POST', '/ports/3100/wait', {});
      expect(waited.json()).toMatchObject({
        state: 'listening',
        listener: { port: 3100, address: '127.0.0.1', server: 'web' },
      });
      await ask('POST', '/stop');
      expect((await ask('GET', '/servers')).json()).toMatchObject({ code: 'sandbox_not_running' });
      await ask('POST', '/resume');
      expect((await ask('POST', '/ports/3100/wait', {})).status).toBe(200);
      expect((await get('web')).restart).toBe('always');
      const { ports } = (await ask('GET', '/ports')).json<{ ports: { port: number }[] }>();
      expect(ports.map(({ port }) => port)).toContain(3100);
    });

    test('see a port that takes the place of another, with no process and no connection', async () => {
      const script = `const open = (port, then) => { const s = require('net').createServer().listen(port, '127.0.0.1', () => then(s)) };
        open(3400, (s) => setTimeout(() => { s.close(); open(3401, () => {}) }, 1000))`;
      const { id } = await start({ argv: ['node', '-e', script] });
      expect((await ask('POST', '/ports/3400/wait', {})).status).toBe(200);
      expect((await ask('POST', '/ports/3401/wait', {})).json()).toMatchObject({ state: 'listening' });
      expect((await ask('POST', '/ports/3400/wait', { state: 'closed' })).status).toBe(200);
      await ask('POST', `/processes/${id}/signal`, { signal: 'SIGKILL' });
    });

    test('resume a stopped sandbox when a process starts', async () => {
      await ask('POST', '/stop');
      expect((await ended(await start({ argv: ['true'] }))).exit?.code).toBe(0);
    });

    test('stops, starts and removes a server, and reads its logs', async () => {
      await put('logs', { command: 'echo begins; exec sleep 600', readiness: { log: 'begins' } });
      expect((await ask('POST', '/servers/logs/stop')).json()).toMatchObject({ state: 'stopped' });
      expect((await ask('POST', '/servers/logs/start')).json()).toMatchObject({ name: 'logs' });
      await ask('POST', '/servers/logs/stop');
      const lines = events((await ask('GET', '/servers/logs/logs?tail=1')).text);
      expect(printed(lines)).toBe('begins\n');
      expect((await ask('DELETE', '/servers/logs')).status).toBe(204);
      expect((await ask('GET', '/servers/logs')).status).toBe(404);
    });

    test('make a preview wait for a declared server, and show what a failed server printed', async () => {
      const preview = (port: number) =>
        porthole.call('POST', `/api/runs/${run.runId}/sandbox/port-forward`, {
          token: ALICE,
          body: { target_port: port },
        });
      await put('slow', { argv: ['node', '-e', `setTimeout(() => { ${PAGE} }, 1000)`], port: 3200 });
      expect((await preview(3200)).json()).toMatchObject({ ready: true });
      await put('broken', { command: 'echo no such module; exit 1', port: 3201, restart: 'never' });
      expect((await preview(3201)).json()).toMatchObject({
        ready: false,
        reason: 'server_failed',
        server: 'broken',
        log: ['no such module'],
      });
    });

    test('publishes ports, servers and exits on the timelines, and on the sandbox', async () => {
      const streams = await Promise.all(
        [`/api/runs/${run.runId}/events`, `${base}/events`].map((path) =>
          openEventStream(porthole.host.port, path, { authorization: `Bearer ${ALICE}` }),
        ),
      );
      await put('seen', { argv: ['node', '-e', PAGE], port: 3300 });
      await ask('POST', '/ports/3300/wait', {});
      await ask('DELETE', '/servers/seen');
      await ask('POST', '/ports/3300/wait', { state: 'closed' });
      await ended(await start({ argv: ['true'], name: 'last' }));
      const [ofRun = [], ofSandbox = []] = await Promise.all(streams.map(untilLast));
      const state = { server: 'seen', reason: null };
      const started = { name: 'last', command: 'true', started_by: 'person' };
      expect(ofRun).toEqual(
        expect.arrayContaining([
          { type: 'server.changed', data: { ...state, state: 'starting' } },
          { type: 'server.changed', data: { ...state, state: 'stopped' } },
          { type: 'port.listening', data: expect.objectContaining({ port: 3300, server: 'seen' }) },
          { type: 'port.closed', data: { port: 3300 } },
          { type: 'process.started', data: expect.objectContaining(started) },
          { type: 'process.exited', data: expect.objectContaining({ name: 'last', exit_code: 0 }) },
        ]),
      );
      expect(ofSandbox).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ type: 'port_listening', port: 3300 }),
          expect.objectContaining({ type: 'port_closed', port: 3300 }),
          expect.objectContaining({ type: 'process_started', ...started }),
          expect.objectContaining({ type: 'process_exited', name: 'last' }),
        ]),
      );
    });
  });
}

/** All events up to the exit of the process `last`, without ids and times. */
async function untilLast(stream: EventStream): Promise<Record<string, unknown>[]> {
  const seen: Record<string, unknown>[] = [];
  for (let frame = await stream.next(); frame !== undefined; frame = await stream.next()) {
    if (frame.data === undefined) continue;
    const { id: _, at: _at, ...event } = JSON.parse(frame.data) as Record<string, unknown>;
    seen.push(event);
    const { type } = event;
    if (String(type).endsWith('exited') && JSON.stringify(event).includes('"last"')) break;
  }
  stream.leave();
  return seen;
}
