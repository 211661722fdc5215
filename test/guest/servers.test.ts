/** Declared servers, ports and events of a real guest. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { portList, portState } from '#protocol/guest/ports-protocol.ts';
import { serverInfo, type ServerInfo, serverList } from '#protocol/guest/servers-protocol.ts';
import { guestProcessesOf } from '#test/guest/support/guest-processes.ts';
import { GuestProcess } from '#test/guest/support/guest-process.ts';

let guest: GuestProcess;
let api: ReturnType<typeof guestProcessesOf>;
beforeAll(async () => {
  guest = await GuestProcess.start();
  api = guestProcessesOf(guest.client);
});
afterAll(() => guest.stop());

/** An unused port: a different one for each test. */
let next = 20_000 + Math.floor(Math.random() * 10_000);
const freePort = () => next++;

const put = (name: string, body: unknown) =>
  guest.client.json('PUT', `/v1/servers/${name}`, serverInfo, { body });
const get = (name: string) => guest.client.json('GET', `/v1/servers/${name}`, serverInfo);
const act = (name: string, action: 'start' | 'stop' | 'restart') =>
  guest.client.json('POST', `/v1/servers/${name}/${action}`, serverInfo);
const remove = async (name: string) => {
  (await guest.client.request('DELETE', `/v1/servers/${name}`)).resume();
};

const listening = (line = 'up') =>
  `require('http').createServer((q, r) => { r.statusCode = q.url === '/bad' ? 500 : 200; r.end('hi'); })
    .listen(process.env.PORT, '127.0.0.1', () => console.log('${line}'))`;

/** Watches events until `isEnough`. */
async function eventsUntil(isEnough: (seen: readonly Event[]) => boolean, begin?: () => Promise<unknown>) {
  const stop = new AbortController();
  const seen: Event[] = [];
  for await (const { event, data } of guest.client.events('/v1/events', { signal: stop.signal })) {
    seen.push({ name: event, data: JSON.parse(data) as Record<string, unknown>, at: performance.now() });
    if (event === 'snapshot') void begin?.();
    if (isEnough(seen)) break;
  }
  stop.abort();
  return seen;
}
interface Event {
  readonly name: string;
  readonly data: Record<string, unknown>;
  readonly at: number;
}
const isState = (name: string, state: string) => (seen: readonly Event[]) =>
  seen.some(
    (event) => event.name === 'server' && event.data['name'] === name && event.data['state'] === state,
  );

test('becomes ready by its port, and tells so', async () => {
  const port = freePort();
  const seen = await eventsUntil(isState('web', 'ready'), () =>
    put('web', { argv: ['node', '-e', listening()], port }),
  );
  const states = seen.filter(({ name }) => name === 'server').map(({ data }) => data['state']);
  expect(states).toEqual(['starting', 'ready']);
  const info = await get('web');
  expect(info).toMatchObject({ state: 'ready', port, restart: 'on-failure', restarts: 0, exit: null });
  const { ports } = await guest.client.json('GET', '/v1/ports', portList);
  expect(ports.find((one) => one.port === port)).toMatchObject({
    address: '127.0.0.1',
    program: expect.stringContaining('node'),
    server: 'web',
    process_id: info.process_id,
    pid: info.pid,
  });
});

test('is the same when declared again, and refuses another declaration of its name', async () => {
  const { port, pid } = await get('web');
  const same = await guest.client.request('PUT', '/v1/servers/web', {
    body: { port, argv: ['node', '-e', listening()], restart: 'on-failure' },
  });
  expect(same.statusCode).toBe(200);
  same.resume();
  expect((await get('web')).pid).toBe(pid);
  expect(await api.refusal('PUT', '/v1/servers/web', { argv: ['true'] })).toMatchObject({
    status: 409,
    body: { code: 'conflict', existing: ['web'] },
  });
  expect(await api.refusal('GET', '/v1/servers/nope')).toMatchObject({
    status: 404,
    body: {
      error: expect.stringMatching(/^Server nope: not found\. Servers: web\. Processes: .+\.$/),
      existing: ['web'],
    },
  });
});

test('stops and starts by request', async () => {
  expect(await act('web', 'stop')).toMatchObject({ state: 'stopped', pid: null, exit: { reason: 'killed' } });
  await act('web', 'start');
  await eventsUntil((seen) => snapshotHas(seen, 'web', 'ready') || isState('web', 'ready')(seen));
  const before = (await get('web')).pid;
  await act('web', 'restart');
  await eventsUntil((seen) => snapshotHas(seen, 'web', 'ready') || isState('web', 'ready')(seen));
  expect((await get('web')).pid).not.toBe(before);
});
const snapshotHas = (seen: readonly Event[], name: string, state: string) =>
  ((seen[0]?.data['servers'] ?? []) as { name: string; state: string }[]).some(
    (server) => server.name === name && server.state === state,
  );

test('becomes ready by a line of its output, also one that comes in pieces', async () => {
  const script =
    "process.stdout.write('now re'); setTimeout(() => console.log('ady'), 50); setInterval(() => {}, 1e6)";
  await eventsUntil(isState('logging', 'ready'), () =>
    put('logging', { argv: ['node', '-e', script], readiness: { log: 'now ready' } }),
  );
  await remove('logging');
});

test('becomes ready by a path, and fails with the reason when that takes too long', async () => {
  const port = freePort();
  const argv = ['node', '-e', listening()];
  await eventsUntil(isState('path', 'ready'), () => put('path', { argv, port, readiness: { http: '/' } }));
  await remove('path');
  await eventsUntil(isState('bad', 'failed'), () =>
    put('bad', { argv, port: freePort(), readiness: { http: '/bad', timeout_ms: 800 } }),
  );
  expect(await get('bad')).toMatchObject({ state: 'failed', reason: 'not ready within 800 ms' });
  await remove('bad');
});

test.each([
  ['never', 3, 'failed', 0],
  ['never', 0, 'exited', 0],
  ['on-failure', 0, 'exited', 0],
  ['on-failure', 3, 'waiting', 1],
  ['always', 0, 'waiting', 1],
])('applies restart %s: a server that ends with %i is %s', async (restart, code, state, restarts) => {
  await eventsUntil(isState('short', state), () =>
    put('short', { command: `echo "try $PORT"; exit ${code}`, port: freePort(), restart }),
  );
  expect(await get('short')).toMatchObject({ exit: { code, reason: 'exited' } });
  // The next start is automatic, and its output is in the same log.
  if (restarts > 0) {
    await eventsUntil((seen) => seen.filter(({ name }) => name === 'process').length >= 1);
    const { state: now, restarts: count } = await get('short');
    expect([now, count]).toEqual([expect.stringMatching(/waiting|starting/), 1]);
    const logs = await logsOf('short', '');
    expect(logs.filter(([event]) => event === 'exit').length).toBeGreaterThanOrEqual(2);
  }
  await remove('short');
});

async function logsOf(name: string, query: string): Promise<[string, string][]> {
  const seen: [string, string][] = [];
  for await (const { event, data } of guest.client.events(`/v1/servers/${name}/logs${query}`)) {
    seen.push([event, event === 'exit' ? data : Buffer.from(data, 'base64').toString()]);
  }
  return seen;
}

test.each([
  [{ argv: ['no-such-program'] }, 'no-such-program'],
  [{ command: 'no-such-program --port 1' }, 'no-such-program'],
  [{ command: 'cat missing.txt; ./missing.sh' }, './missing.sh'],
  [{ command: 'echo done; exit 127' }, undefined],
])('names the program that %j lacks', async (program, name) => {
  await eventsUntil(isState('lacks', 'failed'), () => put('lacks', { ...program, restart: 'never' }));
  const cause =
    name === undefined ? 'exited' : `program ${name} not found: install it, or correct the command`;
  expect(await get('lacks')).toMatchObject({ reason: `ended with code 127 (${cause})` });
  await remove('lacks');
});

test('shows the last lines of its logs', async () => {
  const command = 'i=0; while [ $i -lt 500 ]; do i=$((i+1)); echo "line $i"; done';
  await eventsUntil(isState('lines', 'exited'), () => put('lines', { command, restart: 'never' }));
  const tail = await logsOf('lines', '?tail=3');
  expect(tail.map(([, text]) => text).join('')).toContain('line 498\nline 499\nline 500\n');
  expect(tail.map(([, text]) => text).join('')).not.toContain('line 497');
  expect((await logsOf('lines', '')).map(([event]) => event).at(-1)).toBe('exit');
  expect(await logsOf('lines', '?tail=0')).toEqual([]);
  await remove('lines');
});

test('starts again with the guest, unless it was stopped', async () => {
  await put('asleep', { argv: ['sleep', '1000'] });
  await act('asleep', 'stop');
  const { pid } = await get('web');
  await guest.kill();
  process.kill(pid as number, 'SIGKILL');
  await guest.start();
  await eventsUntil((seen) => snapshotHas(seen, 'web', 'ready') || isState('web', 'ready')(seen));
  const { servers } = await guest.client.json('GET', '/v1/servers', serverList);
  expect(servers.map(({ name, state }: ServerInfo) => [name, state])).toEqual([
    ['asleep', 'stopped'],
    ['web', 'ready'],
  ]);
  await remove('asleep');
});

test.each([['not json'], ['{"servers":{"web":{"declaration":{}},"../up":{}}}'], ['{"servers":[]}']])(
  'ignores a file of declarations that cannot be read: %s',
  async (content) => {
    await guest.kill('SIGTERM');
    const file = join(guest.workspace, '.porthole', 'servers.json');
    const before = readFileSync(file);
    writeFileSync(file, content);
    await guest.start();
    expect(await guest.client.json('GET', '/v1/servers', serverList)).toEqual({ servers: [] });
    await guest.kill('SIGTERM');
    writeFileSync(file, before);
    await guest.start();
  },
);

test('tells of ports within 300 ms, and waits for them', async () => {
  const port = freePort();
  const script = `let left = 3; const open = () => {
    const s = require('net').createServer().listen(${port}, '::', () => { console.log(Date.now());
      setTimeout(() => { s.close(); console.log(Date.now()); left -= 1; setTimeout(left > 0 ? open : () => {}, 600) }, 600) }) };
    open()`;
  const waiting = guest.client.json('POST', `/v1/ports/${port}/wait`, portState, { body: {} });
  const isPort = ({ name, data }: Event) => name === 'port' && data['port'] === port;
  let started: Promise<{ id: string }> | undefined;
  const seen = await eventsUntil(
    (events) => events.filter(isPort).length === 6,
    () => (started = api.start({ argv: ['node', '-e', script] })),
  );
  const { id } = (await started) as { id: string };
  expect(await waiting).toMatchObject({ state: 'listening', listener: { address: '::', process_id: id } });
  const reported = seen.filter(isPort).map(({ data }) => data);
  expect(reported.map(({ state }) => state)).toEqual([1, 2, 3].flatMap(() => ['listening', 'closed']));
  const times = (await api.output(id)).stdout.toString().split('\n').map(Number);
  const delays = reported.map(({ at }, round) => Date.parse(String(at)) - (times[round] as number));
  // A busy machine delays some of them, but not all.
  expect(Math.min(...delays.filter((_, at) => at % 2 === 0))).toBeLessThan(300);
  expect(Math.min(...delays.filter((_, at) => at % 2 === 1))).toBeLessThan(300);
  expect(
    await guest.client.json('POST', `/v1/ports/${port}/wait`, portState, { body: { state: 'closed' } }),
  ).toEqual({
    port,
    state: 'closed',
    listener: null,
  });
  const refused = await api.refusal('POST', `/v1/ports/${port}/wait`, { timeout_ms: 50 });
  expect(refused).toMatchObject({ status: 408, body: { code: 'timed_out' } });
});

test('tells of the start and the exit of a process', async () => {
  const seen = await eventsUntil(
    (events) => events.some(({ data }) => data['command'] === 'sh -c exit 9' && 'exit' in data),
    () => api.start({ command: 'exit 9', name: 'nine' }),
  );
  expect(seen.slice(-2)).toMatchObject([
    { name: 'process_started', data: { name: 'nine', started_by: { kind: 'sandbox' } } },
    { name: 'process', data: { name: 'nine', exit: { code: 9 } } },
  ]);
});
