/** The sandbox bridge 1.0, by clients that are no release of its SDK and mean no good. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { startHostProcess } from '#test/support/host-process.ts';
import { call, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { bridgeCalls, type BridgeProcess, textOf } from './support/bridge-calls.ts';
import { openEventStream } from './support/event-stream.ts';
import { ALICE, BOB, PEOPLE, SERVICE_KEY } from './support/people.ts';
import { TerminalClient } from './support/terminals.ts';

let porthole: TestHost;
let sandboxId: string;
let here: ReturnType<typeof bridgeCalls>;

async function create(token = ALICE): Promise<string> {
  const answer = await porthole.call('POST', '/bridge/1.0/v1/sandbox', { token, body: {} });
  expect(answer.status).toBe(200);
  return answer.json<{ id: string }>().id;
}

beforeAll(async () => {
  porthole = await startTestHost(PEOPLE);
  sandboxId = await create();
  here = bridgeCalls(porthole.host.port, sandboxId);
}, 60_000);
afterAll(() => porthole?.end());

/** The last cursor of a connection. */
const cursorOf = ({ reported }: TerminalClient): string =>
  String(reported.findLast(({ cursor }) => cursor !== undefined)?.['cursor']);

describe('what it refuses', () => {
  test.each<[string, unknown, number, string]>([
    ['no argv', {}, 400, 'argv'],
    ['an empty argv', { argv: [] }, 400, 'argv: must name a program'],
    ['an empty program', { argv: [''] }, 400, 'argv: must name a program'],
    ['a number in argv', { argv: ['echo', 1] }, 400, 'argv.1'],
    ['a NUL in argv', { argv: ['echo', 'a\0b'] }, 400, 'argv.1'],
    ['a text as argv', { argv: 'echo' }, 400, 'argv'],
    ['a time-out of 0', { argv: ['true'], timeout: 0 }, 400, 'timeout: must be a positive finite number'],
    ['a time-out below 0', { argv: ['true'], timeout: -1 }, 400, 'timeout'],
    ['a time-out that is a text', { argv: ['true'], timeout: '9' }, 400, 'timeout'],
    ['a time-out of null', { argv: ['true'], timeout: null }, 400, 'timeout'],
    ['a time-out of years', { argv: ['true'], timeout: 1e12 }, 400, 'timeout'],
    ['a list as env', { argv: ['true'], env: ['A=1'] }, 400, 'env'],
    ['a number in env', { argv: ['true'], env: { A: 1 } }, 400, 'env.A'],
    ['a name with "=" in env', { argv: ['true'], env: { 'A=B': '1' } }, 400, 'env'],
    ['a folder outside', { argv: ['true'], cwd: '/etc' }, 403, 'cwd must resolve to a location within'],
    ['a folder outside by dots', { argv: ['true'], cwd: '/workspace/../etc' }, 403, 'cwd'],
    ['a field of 0.12', { argv: ['true'], timeout_ms: 9 }, 400, '"timeout_ms"'],
    ['a list', [], 400, 'body'],
    ['no JSON', '{', 400, 'Invalid JSON body'],
  ])('a process with %s', async (_what, body, status, names) => {
    const answer = await here.ask('POST', '/processes', body);
    expect([answer.status, answer.json()['code']]).toEqual([status, 'invalid_request']);
    expect(answer.json()['error']).toContain(names);
  });

  test.each<[string, unknown, number, string]>([
    ['no argv', {}, 400, 'argv'],
    ['no columns', { argv: ['cat'], cols: 0 }, 400, 'cols: must be a positive integer'],
    ['half a column', { argv: ['cat'], cols: 1.5 }, 400, 'cols'],
    ['a text as rows', { argv: ['cat'], rows: '24' }, 400, 'rows'],
    ['more rows than a screen has', { argv: ['cat'], rows: 4_097 }, 400, 'rows: must be at most 4096'],
    ['a number as folder', { argv: ['cat'], cwd: 1 }, 400, 'cwd'],
    ['a folder outside', { argv: ['cat'], cwd: '/' }, 403, 'cwd'],
    ['a list as env', { argv: ['cat'], env: [] }, 400, 'env'],
    ['an unknown field', { argv: ['cat'], bufferSize: 1 }, 400, '"bufferSize"'],
  ])('a terminal with %s', async (_what, body, status, names) => {
    const answer = await here.ask('POST', '/terminals', body);
    expect([answer.status, answer.json()['code']]).toEqual([status, 'invalid_request']);
    expect(answer.json()['error']).toContain(names);
  });

  test.each(['processes', 'terminals'])(
    'a program that cannot be started, without a trace in %s',
    async (kind) => {
      const before = (await here.ask('GET', `/${kind}`)).json<BridgeProcess[]>().length;
      const answer = await here.ask('POST', `/${kind}`, { argv: ['no-such-program'] });
      expect([answer.status, answer.json()['code']]).toEqual([502, 'process_error']);
      expect(answer.json()['error']).toContain('no-such-program');
      expect((await here.ask('GET', `/${kind}`)).json<BridgeProcess[]>()).toHaveLength(before);
    },
  );

  describe('of what exists', () => {
    let process: BridgeProcess;
    let terminal: BridgeProcess;
    beforeAll(async () => {
      process = await here.start(['sh', '-c', 'echo out; exec sleep 600']);
      terminal = await here.open(['cat']);
    });

    test.each([
      ['a cursor that is a word', '?since=abc', 'since'],
      ['a cursor below 0', '?since=-1', 'since'],
      ['a cursor beyond the end', '?since=999', 'since: 999 is beyond the end of the output, 4'],
      ['the largest cursor', '?since=999999999999999&follow=true', 'beyond the end'],
      ['a cursor of 100 digits', `?since=${'9'.repeat(100)}`, 'since'],
      ['a flag that is neither', '?replay=maybe', 'replay'],
      ['an unknown parameter', '?tail=5', '"tail"'],
    ])('logs from %s', async (_what, query, names) => {
      const follow = await here.ask('GET', `/processes/${process.id}/logs`);
      expect(follow.status).toBe(200);
      const answer = await here.ask('GET', `/processes/${process.id}/logs${query}`);
      expect([answer.status, answer.json()['code']]).toEqual([400, 'invalid_request']);
      expect(answer.json()['error']).toContain(names);
    });

    test.each<[unknown, string]>([
      [{ signal: 0 }, 'signal: must be an integer between 1 and 64'],
      [{ signal: 65 }, 'signal: must be an integer between 1 and 64'],
      [{ signal: 1.5 }, 'signal'],
      [{ signal: 'SIGTERM' }, 'signal'],
      [{ signal: 19 }, '19 (SIGSTOP) is not supported'],
      [{ sig: 9 }, '"sig"'],
      [[9], 'body'],
      ['{', 'Invalid JSON body'],
    ])('the signal %j, and sends none', async (body, names) => {
      const answer = await here.ask('POST', `/processes/${process.id}/kill`, body);
      expect([answer.status, answer.json()['code']]).toEqual([400, 'invalid_request']);
      expect(answer.json()['error']).toContain(names);
      expect(await here.get(process.id)).toMatchObject({ state: 'running' });
    });

    test.each([
      ['?cols=abc', 'cols and rows must be valid numbers'],
      ['?cols=0', 'cols and rows must be from 1 to 4096'],
      ['?cursor=abc', 'cursor'],
      ['?cursor=999', 'beyond the end'],
      [`?cursor=${'9'.repeat(100)}`, 'cursor'],
      ['?colums=80', '"colums"'],
    ])('a connection with %s, by plain HTTP', async (query, names) => {
      const { status, body } = await here.refused(terminal.id, query);
      expect([status, body['code'], body['error']]).toEqual([
        400,
        'invalid_request',
        expect.stringContaining(names),
      ]);
    });

    test('a connection that is no WebSocket', async () => {
      const answer = await here.ask('GET', `/terminals/${terminal.id}/connect`);
      expect([answer.status, answer.json()['error']]).toEqual([400, 'WebSocket upgrade required']);
    });

    test('a terminal as a process, a process as a terminal, and ids that are none', async () => {
      for (const [method, path] of [
        ['GET', `/processes/${terminal.id}`],
        ['GET', `/processes/${terminal.id}/logs`],
        ['POST', `/processes/${terminal.id}/kill`],
        ['GET', `/terminals/${process.id}`],
        ['POST', `/terminals/${process.id}/interrupt`],
        ['POST', `/terminals/${process.id}/terminate`],
        ['GET', '/processes/..%2f..%2fetc'],
        ['GET', `/terminals/${'a'.repeat(200)}`],
        ['POST', '/terminals/nothere/terminate'],
        ['POST', '/processes/nothere/kill'],
      ] as const) {
        const answer = await here.ask(method, path);
        expect([path, answer.status, answer.json()['code']]).toEqual([path, 404, 'not_found']);
      }
      expect((await here.refused(process.id)).status).toBe(404);
    });

    test('calls of another user, whom it tells nothing', async () => {
      const bob = bridgeCalls(porthole.host.port, sandboxId, BOB);
      const nowhere = bridgeCalls(porthole.host.port, 'nothere', BOB);
      for (const kind of ['processes', 'terminals']) {
        const [foreign, none] = await Promise.all([
          bob.ask('GET', `/${kind}`),
          nowhere.ask('GET', `/${kind}`),
        ]);
        expect([foreign.status, foreign.json()]).toEqual([200, []]);
        expect([none.status, none.json()]).toEqual([200, []]);
        const created = await bob.ask('POST', `/${kind}`, { argv: ['true'] });
        expect([created.status, created.json()['code']]).toEqual([404, 'sandbox_not_found']);
      }
      for (const [method, path] of [
        ['GET', `/processes/${process.id}`],
        ['GET', `/processes/${process.id}/logs?follow=true`],
        ['POST', `/processes/${process.id}/kill`],
        ['GET', `/terminals/${terminal.id}`],
        ['POST', `/terminals/${terminal.id}/interrupt`],
        ['POST', `/terminals/${terminal.id}/terminate`],
      ] as const) {
        const [foreign, none] = [await bob.ask(method, path), await nowhere.ask(method, path)];
        expect([path, foreign.status]).toEqual([path, 404]);
        expect(foreign.json()).toEqual(none.json());
      }
      expect((await bob.refused(terminal.id)).status).toBe(404);
      expect(await here.get(process.id)).toMatchObject({ state: 'running' });
      expect(await here.terminal(terminal.id)).toMatchObject({ status: 'running' });
    });
  });

  test('what release 1.0 does not have', async () => {
    for (const [method, path] of [
      ['POST', '/exec'],
      ['GET', '/pty'],
      ['POST', '/session'],
      ['DELETE', '/session/a'],
      ['PUT', '/processes'],
      ['DELETE', '/processes/a'],
      ['GET', '/checkpoints'],
    ] as const) {
      expect([path, (await here.ask(method, path)).status]).toEqual([path, 404]);
    }
  });

  test('an id that no sandbox can have, before the key', async () => {
    const answer = await porthole.call('GET', '/bridge/1.0/v1/sandbox/UPPER/processes', { token: 'wrong' });
    expect([answer.status, answer.json()['error']]).toEqual([400, 'Invalid sandbox ID format']);
  });
});

describe('a process', () => {
  test('has the fields of the bridge, and keeps its pid after the exit', async () => {
    const started = await here.start(['sh', '-c', 'echo "$A $PWD"; exit 7'], {
      env: { A: 'b' },
      cwd: '/workspace',
    });
    const events = await here.logs(started.id);
    expect(textOf(events, 'stdout')).toBe('b /workspace\n');
    expect(started).toMatchObject({
      id: expect.any(String),
      pid: expect.any(Number),
      command: ['sh', '-c', 'echo "$A $PWD"; exit 7'],
      cwd: '/workspace',
      startedAt: expect.stringMatching(/^20.*Z$/),
    });
    const ended = await here.get(started.id);
    expect(ended).toEqual({
      ...started,
      state: 'exited',
      endedAt: expect.stringMatching(/^20.*Z$/),
      exit: { code: 7, timedOut: false },
    });
    expect(started.pid).toBeGreaterThan(1);
    expect((await here.ask('GET', '/processes')).json<BridgeProcess[]>()).toContainEqual(ended);
    expect(events.at(-1)).toEqual({
      type: 'terminal',
      cursor: expect.stringMatching(/^\d+$/),
      timestamp: ended['endedAt'],
      state: 'exited',
      exit: ended['exit'],
    });
  });

  test('ends by a signal, once, and by its time-out', async () => {
    const killed = await here.start(['sleep', '600']);
    expect((await here.ask('POST', `/processes/${killed.id}/kill`, { signal: 9 })).status).toBe(204);
    expect((await here.logs(killed.id)).at(-1)?.exit).toEqual({ code: 137, signal: 9, timedOut: false });
    expect((await here.ask('POST', `/processes/${killed.id}/kill`)).status).toBe(204);
    const slow = await here.start(['sleep', '600'], { timeout: 20.5 });
    expect((await here.logs(slow.id)).at(-1)?.exit).toEqual({ code: 143, signal: 15, timedOut: true });
  });

  test('can be read from any cursor, and from now on', async () => {
    const { id } = await here.start([
      'sh',
      '-c',
      'for i in 1 2 3 4 5; do echo $i; echo e$i >&2; done; cat; exit 3',
    ]);
    const all = await here.logs(id);
    expect([textOf(all, 'stdout'), textOf(all, 'stderr')]).toEqual([
      '1\n2\n3\n4\n5\n',
      'e1\ne2\ne3\ne4\ne5\n',
    ]);
    const whole = all.map(({ data = '' }) => Buffer.from(data, 'base64').toString()).join('');
    for (const [at, { cursor }] of all.entries()) {
      const rest = await here.logs(id, `?since=${cursor}`);
      const read = all.slice(0, at + 1).concat(rest);
      expect(read.map(({ data = '' }) => Buffer.from(data, 'base64').toString()).join('')).toBe(whole);
    }
    const half = await here.logs(id, '?since=3');
    expect(half.map(({ data = '' }) => Buffer.from(data, 'base64').toString()).join('')).toBe(whole.slice(3));
    expect((await here.logs(id, '?replay=false&follow=1')).map(({ type }) => type)).toEqual(['terminal']);
    expect((await here.logs(id, '?replay=0')).map(({ type }) => type)).toEqual(['terminal']);
  });

  test('says where output was dropped', async () => {
    const { id } = await here.start(['sh', '-c', 'yes 0123456789abcde | head -c 6291456']);
    expect((await here.logs(id, '?replay=false&follow=true')).at(-1)?.type).toBe('terminal');
    const [first, ...rest] = await here.logs(id);
    expect(first?.type).toBe('truncated');
    expect(textOf(rest, 'stdout')).toHaveLength(6_291_456 - Number(first?.cursor));
    expect(rest.at(-1)?.exit?.code).toBe(0);
  });

  test('goes on without its reader', async () => {
    const { id } = await here.start(['sh', '-c', 'echo ready; exec sleep 600']);
    const path = `/bridge/1.0/v1/sandbox/${sandboxId}/processes/${id}/logs?follow=true`;
    const stream = await openEventStream(porthole.host.port, path, { authorization: `Bearer ${ALICE}` });
    let frame = await stream.next();
    while (frame?.data === undefined) frame = await stream.next();
    stream.leave();
    expect(await here.get(id)).toMatchObject({ state: 'running' });
    await here.ask('POST', `/processes/${id}/kill`);
  });
});

test('an unread stream of logs keeps little, and holds up nothing', async () => {
  const { id } = await here.start(['sh', '-c', 'yes 0123456789abcde | head -c 33554432']);
  const path = `/bridge/1.0/v1/sandbox/${sandboxId}/processes/${id}/logs?follow=true`;
  const before = process.memoryUsage.rss();
  const stream = await openEventStream(porthole.host.port, path, { authorization: `Bearer ${ALICE}` });
  expect((await here.logs(id, '?replay=false&follow=true')).at(-1)?.exit?.code).toBe(0);
  expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
  stream.leave();
});

test("Porthole's own API connects to the same terminal", async () => {
  const { id } = await here.open(['cat']);
  const path = `/v1/sandbox/${sandboxId}/processes/${id}/terminal`;
  const socket = new WebSocket(`ws://127.0.0.1:${porthole.host.port}${path}?since=0`, {
    headers: { authorization: `Bearer ${ALICE}` },
  });
  const client = new TerminalClient(socket);
  client.socket.once('open', () => client.type('hello\n'));
  await client.shows('hello');
  await here.ask('POST', `/terminals/${id}/terminate`);
  expect(await client.closed).toBe(1000);
});

describe('a terminal', () => {
  test('sends each piece behind its cursor, and resumes there without a gap', async () => {
    const { id } = await here.open([
      'sh',
      '-c',
      'stty -echo; printf one; read x; printf "two:$x"; read x; exit 4',
    ]);
    const first = await here.connect(id);
    await first.shows('one');
    const [ready, chunk, bytes] = first.messages;
    expect(ready).toEqual({ type: 'ready', cursor: '0' });
    expect(chunk).toEqual({
      type: 'chunk',
      cursor: expect.any(String),
      byteLength: (bytes as Buffer).length,
    });
    await first.leave();
    expect(await here.terminal(id)).toMatchObject({ status: 'running' });
    const second = await here.connect(id, `?cursor=${cursorOf(first)}`);
    second.type('hi\n');
    await second.shows('two:hi');
    expect(second.output.toString()).toBe('two:hi');
    const third = await here.connect(id);
    await third.shows('two:hi');
    expect(third.output.toString()).toBe('onetwo:hi');
    third.type('\n');
    expect(await second.closed).toBe(1000);
    expect(second.reported.at(-1)).toEqual({
      type: 'exit',
      cursor: cursorOf(second),
      exit: { code: 4, timedOut: false },
    });
    expect(await here.terminal(id)).toMatchObject({ status: 'exited', exit: { code: 4 } });
    const later = await here.connect(id);
    expect(await later.closed).toBe(1000);
    expect(later.output.toString()).toBe('onetwo:hi');
  });

  test('delivers what is typed before its socket closes', async () => {
    const { id } = await here.open(['sh', '-c', 'read x; exit 9']);
    const client = await here.connect(id);
    client.type('x\n');
    await client.leave();
    const again = await here.connect(id);
    await again.closed;
    expect(again.reported.at(-1)).toMatchObject({ type: 'exit', exit: { code: 9 } });
  });

  test('takes its size from the start, a connection, and a message', async () => {
    const { id } = await here.open(['bash', '--norc'], { cols: 91, rows: 31 });
    const client = await here.connect(id);
    client.type('stty size\n');
    await client.shows('31 91');
    const wide = await here.connect(id, '?cols=101&rows=41');
    wide.type('stty size\n');
    await wide.shows('41 101');
    wide.socket.send(JSON.stringify({ type: 'resize', cols: 111, rows: 51 }));
    wide.type('stty size\n');
    await wide.shows('51 111');
    await here.ask('POST', `/terminals/${id}/terminate`);
  });

  test.each<[string, (id: string, client: TerminalClient) => Promise<unknown>]>([
    ['by its route', (id) => here.ask('POST', `/terminals/${id}/interrupt`)],
    ['by a message', (_id, { socket }) => Promise.resolve(socket.send('{"type":"interrupt"}'))],
  ])('interrupts the program in the foreground of a shell, %s', async (_how, interrupt) => {
    const { id } = await here.open(['bash', '--norc', '-i']);
    const client = await here.connect(id);
    client.type('echo st""art; sleep 600\n');
    await client.shows('start\r\n');
    await interrupt(id, client);
    client.type('echo "after $?"\n');
    await client.shows('after 130');
    expect(await here.terminal(id)).toMatchObject({ status: 'running' });
    await here.ask('POST', `/terminals/${id}/terminate`);
  });

  test('ends a shell, and a program that ignores it', async () => {
    const shell = await here.open(['bash', '--norc', '-i']);
    const client = await here.connect(shell.id);
    client.socket.send('{"type":"terminate"}');
    expect(await client.closed).toBe(1000);
    expect(client.reported.at(-1)?.type).toBe('exit');
    const stubborn = await here.open(['sh', '-c', "trap '' TERM HUP; echo ready; while :; do sleep 1; done"]);
    const watcher = await here.connect(stubborn.id);
    await watcher.shows('ready');
    expect((await here.ask('POST', `/terminals/${stubborn.id}/terminate`)).status).toBe(204);
    expect(await here.terminal(stubborn.id)).toMatchObject({ exit: { code: 137, signal: 9 } });
    for (const again of ['terminate', 'interrupt']) {
      expect((await here.ask('POST', `/terminals/${stubborn.id}/${again}`)).status).toBe(204);
    }
  }, 30_000);

  test('answers messages that it does not know, and stays open', async () => {
    const { id } = await here.open(['cat']);
    const client = await here.connect(id);
    for (const text of [
      '{',
      '[]',
      '{"type":"resize","cols":0,"rows":1}',
      '{"type":"resize","cols":9999,"rows":1}',
    ]) {
      client.socket.send(text);
    }
    client.socket.send('{"type":"unknown"}');
    await client.until(({ reported }) => reported.filter(({ type }) => type === 'error').length === 5);
    client.type('still\n');
    await client.shows('still');
    await here.ask('POST', `/terminals/${id}/terminate`);
  });

  test('keeps little for a client that never reads, and shows others everything', async () => {
    const { id } = await here.open([
      'sh',
      '-c',
      'stty -opost; read x; yes 0123456789abcde | head -c 33554432',
    ]);
    const stuck = await here.connect(id);
    const reader = await here.connect(id);
    (stuck.socket as unknown as { _socket: { pause(): void } })._socket.pause();
    const before = process.memoryUsage.rss();
    reader.type('\n');
    await reader.closed;
    expect(reader.reported.at(-1)).toMatchObject({ type: 'exit', exit: { code: 0 } });
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
    const end = Number(cursorOf(reader));
    expect(end).toBeGreaterThanOrEqual(33_554_432);
    expect(reader.output.length + droppedIn(reader)).toBeGreaterThanOrEqual(33_554_432);
    stuck.socket.terminate();
    await stuck.closed;
  }, 60_000);

  test('holds 100 at a time, and refuses a connection beyond 128', async () => {
    // A person may open fewer.
    const id = await create(SERVICE_KEY);
    const there = bridgeCalls(porthole.host.port, id, SERVICE_KEY);
    const opened = await Promise.all(Array.from({ length: 100 }, () => there.open(['cat'])));
    const clients = await Promise.all(opened.map((each) => there.connect(each.id)));
    for (const [at, client] of clients.entries()) client.type(`terminal ${at}.\n`);
    for (const [at, client] of clients.entries()) await client.shows(`terminal ${at}.`);
    expect((await there.ask('GET', '/terminals')).json()).toHaveLength(100);
    const first = opened[0]?.id ?? '';
    const more = await Promise.all(Array.from({ length: 28 }, () => there.connect(first)));
    const { status, body } = await there.refused(first);
    expect([status, body['code']]).toEqual([429, 'too_many_terminals']);
    await more[0]?.leave();
    // The place is free once the connection has ended here, too.
    await there.connect(first);
    await there.ask('DELETE', '');
    await Promise.all(clients.map(({ closed }) => closed));
  }, 120_000);
});

/** Output that the ring dropped before a client had read it. */
function droppedIn({ reported }: TerminalClient): number {
  let at = 0;
  let dropped = 0;
  for (const { type, cursor } of reported) {
    if (cursor === undefined) continue;
    if (type === 'truncated') dropped += Number(cursor) - at;
    at = Number(cursor);
  }
  return dropped;
}

test('a sandbox that stops ends its terminals, which are errors afterwards', async () => {
  const id = await create();
  const there = bridgeCalls(porthole.host.port, id);
  const terminal = await there.open(['cat']);
  const started = await there.start(['sleep', '600']);
  const client = await there.connect(terminal.id);
  await porthole.call('POST', `/v1/sandbox/${id}/stop`, { token: ALICE });
  expect(await client.closed).toBeGreaterThanOrEqual(1000);
  expect(client.reported.at(-1)?.type).toBe('error');
  expect((await there.ask('GET', '/processes')).json()).toEqual([]);
  expect((await there.ask('GET', `/processes/${started.id}`)).status).toBe(404);
  expect((await there.ask('POST', `/terminals/${terminal.id}/terminate`)).status).toBe(404);
  expect((await there.start(['true']))['state']).toBeDefined();
  const failure = { code: 'sandbox_stopped', message: expect.any(String) };
  expect(await there.get(started.id)).toMatchObject({ state: 'error', error: failure, pid: started.pid });
  expect(await there.terminal(terminal.id)).toMatchObject({ status: 'error', error: failure });
  const late = await there.connect(terminal.id);
  expect(await late.closed).toBe(1011);
}, 60_000);

test('a terminal goes on while Porthole is killed, and resumes at its cursor', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'porthole-bridge-'));
  let host = await startHostProcess({ dataDir, environment: PEOPLE });
  try {
    const { id } = (await call(host.port, 'POST', '/bridge/1.0/v1/sandbox', { token: ALICE })).json<{
      id: string;
    }>();
    const argv = ['sh', '-c', 'stty -echo; printf one; read x; printf "two:$x"; exec sleep 600'];
    const terminal = await bridgeCalls(host.port, id).open(argv);
    const client = await bridgeCalls(host.port, id).connect(terminal.id);
    await client.shows('one');
    await host.end('SIGKILL');
    await client.closed;
    host = await startHostProcess({ dataDir, environment: PEOPLE });
    const again = await bridgeCalls(host.port, id).connect(terminal.id, `?cursor=${cursorOf(client)}`);
    again.type('hi\n');
    await again.shows('two:hi');
    expect(again.output.toString()).toBe('two:hi');
    await bridgeCalls(host.port, id).ask('DELETE', '');
  } finally {
    await host.end('SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  }
}, 60_000);

test('documents itself, below its base URL', async () => {
  const answer = await porthole.call('GET', '/bridge/1.0/v1/openapi.json', { token: ALICE });
  const { openapi, paths, servers } = answer.json<{
    openapi: string;
    paths: Record<string, object>;
    servers: { url: string }[];
  }>();
  expect([openapi, servers[0]?.url]).toEqual(['3.1.0', '/bridge/1.0']);
  expect(Object.keys(paths)).toEqual(
    expect.arrayContaining([
      '/v1/sandbox/{id}/processes',
      '/v1/sandbox/{id}/terminals/{tid}/connect',
      '/health',
    ]),
  );
  expect(paths).not.toHaveProperty(['/v1/sandbox/{id}/exec']);
  expect((await porthole.call('GET', '/bridge/1.0/v1/openapi.json')).status).toBe(401);
});
