/** Processes of a real guest: they outlive connections, and their output survives the guest. */
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { inputTaken } from '#protocol/guest/answers.ts';
import { guestProcessesOf, type Seen } from '#test/guest/support/guest-processes.ts';
import { codeOf } from '#test/contracts/sandbox-provider.contract.ts';
import { GuestProcess } from '#test/guest/support/guest-process.ts';

let guest: GuestProcess;
let api: ReturnType<typeof guestProcessesOf>;
beforeAll(async () => {
  guest = await GuestProcess.start();
  api = guestProcessesOf(guest.client);
});
afterAll(() => guest.stop());

const text = (seen: Seen, kind: 'stdout' | 'stderr' = 'stdout') => seen[kind].toString();

test('runs to its exit, with its output, its times and who started it', async () => {
  const started = await api.start({
    argv: ['sh', '-c', 'echo out; echo err >&2; exit 7'],
    name: 'seven',
    started_by: { kind: 'agent', id: 'run-1' },
  });
  expect(started).toMatchObject({ name: 'seven', cwd: '/workspace', stdin: false, tty: null });
  const ended = await api.wait(started.id);
  expect(ended).toMatchObject({
    state: 'exited',
    pid: null,
    started_by: { kind: 'agent', id: 'run-1' },
    exit: { code: 7, signal: null, reason: 'exited' },
    output: { first: 0, next: 8 },
  });
  expect(ended.exit?.duration_ms).toBeLessThan(10_000);
  const seen = await api.output(started.id);
  expect([text(seen), text(seen, 'stderr'), seen.exit?.code]).toEqual(['out\n', 'err\n', 7]);
});

test('measures CPU time and memory', async () => {
  const script =
    'const a = Buffer.alloc(60 << 20, 1); const end = Date.now() + 900; while (Date.now() < end);';
  const { id } = await api.start({ argv: ['node', '-e', script] });
  const { exit } = await api.wait(id);
  expect(exit?.cpu_ms).toBeGreaterThan(50);
  expect(exit?.peak_memory_bytes).toBeGreaterThan(60 << 20);
});

test.each([
  [['nowhere'], 127, 'nowhere: not found\n'],
  [['/usr'], 126, '/usr: not executable\n'],
])('reports a process that cannot start as exited: %j', async ([program], code, reason) => {
  const started = await api.start({ argv: [program as string] });
  expect(started).toMatchObject({ state: 'exited', exit: { code, reason: 'exited' } });
  expect(text(await api.output(started.id), 'stderr')).toBe(reason);
});

test('takes a line for the shell', async () => {
  const { id, argv } = await api.start({
    command: 'echo "$GREETING" | tr a-z A-Z',
    env: { GREETING: 'hello' },
  });
  expect(argv.slice(0, 2)).toEqual(['sh', '-c']);
  expect(text(await api.output(id, { follow: true }))).toBe('HELLO\n');
});

test('takes input until its end, and refuses it after the exit with the exit', async () => {
  const { id } = await api.start({ argv: ['cat'], stdin: true });
  expect(await api.input(id, 'one\n')).toEqual({ bytes: 4 });
  await api.input(id, 'two\n', true);
  expect((await api.wait(id)).exit?.code).toBe(0);
  expect(text(await api.output(id))).toBe('one\ntwo\n');
  expect(await api.refusal('POST', `/v1/processes/${id}/input`, 'more')).toMatchObject({
    status: 409,
    body: { code: 'process_exited', exit: { code: 0, reason: 'exited' } },
  });
});

test('says what a process took that it ended with', async () => {
  const { id } = await api.start({ argv: ['sh', '-c', 'read line'], stdin: true });
  const body = Readable.from(
    (async function* () {
      yield Buffer.from('word\n');
      await api.wait(id);
    })(),
  );
  const path = `/v1/processes/${id}/input?eof=true`;
  expect(await guest.client.json('POST', path, inputTaken, { body })).toEqual({ bytes: 5 });
});

test('ends by a signal, by its timeout and by removal', async () => {
  const killed = await api.start({ argv: ['sleep', '1000'] });
  await api.signal(killed.id, 'SIGTERM');
  expect((await api.wait(killed.id)).exit).toMatchObject({ code: null, signal: 'SIGTERM', reason: 'killed' });
  const late = await api.start({ argv: ['sleep', '1000'], timeout_ms: 50 });
  expect((await api.wait(late.id)).exit).toMatchObject({ signal: 'SIGTERM', reason: 'timed_out' });
  const removed = await api.start({ argv: ['sleep', '1000'] });
  await guest.client.request('DELETE', `/v1/processes/${removed.id}`);
  expect(await api.refusal('GET', `/v1/processes/${removed.id}`)).toMatchObject({
    status: 404,
    body: { code: 'not_found', existing: expect.arrayContaining([killed.id]) },
  });
});

test('runs on a terminal and takes a new size', async () => {
  const argv: [string, ...string[]] = ['sh', '-c', 'read -r line; stty size; echo "got $line"'];
  const { id } = await api.start({ argv, tty: { cols: 80, rows: 24 } });
  await api.post(`/v1/processes/${id}/resize`, { cols: 132, rows: 50 });
  await api.input(id, 'word\n');
  expect((await api.wait(id)).tty).toEqual({ cols: 132, rows: 50 });
  expect(text(await api.output(id))).toMatch(/50 132\r\ngot word/);
});

test('answers 408 when a wait is over first', async () => {
  const { id } = await api.start({ argv: ['sleep', '1000'] });
  expect(await api.refusal('POST', `/v1/processes/${id}/wait`, { timeout_ms: 20 })).toMatchObject({
    status: 408,
    body: { code: 'timed_out' },
  });
  await api.signal(id, 'SIGKILL');
});

test('keeps the latest output in its ring, and tells how much is cut', async () => {
  const script = 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo "line $i"; done';
  const { id } = await api.start({ argv: ['sh', '-c', script], output_bytes: 65_536 });
  const { output } = await api.wait(id);
  expect(output.first).toBeGreaterThan(0);
  expect(output.next - output.first).toBeLessThanOrEqual(65_536);
  const whole = Array.from({ length: 20_000 }, (_, index) => `line ${index + 1}\n`).join('');
  expect(output.next).toBe(whole.length);
  const seen = await api.output(id);
  expect(seen.cut).toBe(output.first);
  expect(text(seen)).toBe(whole.slice(output.first));
  const tail = await api.output(id, { since: output.next - 10 });
  expect([tail.cut, text(tail)]).toEqual([0, whole.slice(-10)]);
  expect(await codeOf(api.output(id, { since: output.next + 1 }))).toBe('invalid_request');
});

test('loses and doubles no byte over disconnects at random', async () => {
  const script = `let n = 0; const t = setInterval(() => {
      for (let i = 0; i < 20; i++) process[n % 3 ? 'stdout' : 'stderr'].write(String(n++).padStart(500) + ',');
      if (n >= 6000) { clearInterval(t); }
    }, 1);`;
  const { id } = await api.start({ argv: ['node', '-e', script] });
  const all: Seen = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), cut: 0, cursor: 0, exit: undefined };
  let connections = 0;
  while (all.exit === undefined) {
    const stop = new AbortController();
    // A piece is at most 64 KiB: 3 MB take many connections, however late each one comes.
    const most = 1 + Math.floor(Math.random() * 8);
    await api.outputInto(all, id, { follow: true, signal: stop.signal }, (events) => {
      if (events < most) return;
      if (connections % 2 === 0) stop.abort();
      else for (const connection of guest.connections) connection.destroy();
    });
    connections += 1;
  }
  const numbers = (bytes: Buffer) => bytes.toString().split(',').slice(0, -1).map(Number);
  const expected = Array.from({ length: 6000 }, (_, index) => index);
  expect(numbers(all.stderr)).toEqual(expected.filter((n) => n % 3 === 0));
  expect(numbers(all.stdout)).toEqual(expected.filter((n) => n % 3 !== 0));
  expect(all.cut).toBe(0);
  expect(connections).toBeGreaterThan(10);
});

test('lets a slow reader hold up neither the process nor the guest', async () => {
  const { id } = await api.start({ argv: ['sh', '-c', 'head -c 30000000 /dev/zero'] });
  const response = await guest.client.request('GET', `/v1/processes/${id}/output?follow=true`);
  expect((await api.wait(id)).exit?.code).toBe(0);
  let length = 0;
  for await (const chunk of response) length += (chunk as Buffer).length;
  expect(length).toBeGreaterThan(1_000_000);
});

test('finds what a former guest started as ended by sandbox_stopped, with every byte that was written', async () => {
  const done = await api.start({ argv: ['echo', 'done'] });
  await api.wait(done.id);
  const running = await api.start({ argv: ['sh', '-c', 'echo before; exec sleep 1000'] });
  for await (const { event } of guest.client.events(`/v1/processes/${running.id}/output?follow=true`)) {
    if (event === 'stdout') break;
  }
  await guest.kill();
  process.kill(running.pid as number, 'SIGKILL');
  await guest.start();
  expect(await api.get(done.id)).toMatchObject({ state: 'exited', exit: { code: 0 } });
  expect(await api.get(running.id)).toMatchObject({
    state: 'exited',
    pid: null,
    exit: { code: null, signal: null, reason: 'sandbox_stopped' },
  });
  expect(text(await api.output(running.id))).toBe('before\n');
  expect((await api.list()).map(({ id }) => id)).toEqual(expect.arrayContaining([done.id, running.id]));
});

test('keeps the last 100 that have ended', async () => {
  const ids: string[] = [];
  for (let round = 0; round < 110; round += 1) ids.push((await api.start({ argv: ['true'] })).id);
  for (const id of ids.slice(-20)) await api.wait(id);
  const ended = (await api.list()).filter(({ state }) => state === 'exited');
  expect(ended).toHaveLength(100);
  expect(ended[0]?.id).toBe(ids.at(-1));
});

test.each([
  [{ argv: ['true'], command: 'true' }, 'exactly one'],
  [{}, 'exactly one'],
  [{ argv: [] }, 'argv'],
  [{ argv: ['a\0b'] }, 'zero byte'],
  [{ command: 'true', cwd: 'here' }, 'cwd'],
  [{ command: 'true', timeout_ms: 0 }, 'timeout_ms'],
])('refuses %j', async (request, words) => {
  const { status, body } = await api.refusal('POST', '/v1/processes', request);
  expect([status, body['code']]).toEqual([400, 'invalid_request']);
  expect(body['error']).toContain(words);
});
