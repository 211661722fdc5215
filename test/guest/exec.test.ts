/** Commands and ports through a real guest. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as after } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ExecCommand, ExecExit } from '#core/sandboxes/sandbox-provider.ts';
import { unpacked } from '#protocol/guest/files-protocol.ts';
import { bytes, codeOf, talk, until } from '#test/contracts/sandbox-provider.contract.ts';
import { tar } from '#test/hostile/support/tar-builder.ts';
import { GuestProcess } from '#test/guest/support/guest-process.ts';

let guest: GuestProcess;
beforeAll(async () => {
  guest = await GuestProcess.start();
});
afterAll(() => guest.stop());

async function run(command: ExecCommand & { input?: Buffer | string }) {
  const process = await guest.client.exec({
    ...command,
    ...(command.input === undefined ? {} : { stdin: true }),
  });
  process.stdin?.end(command.input);
  const [stdout, stderr, exit] = await Promise.all([
    bytes(process.stdout),
    bytes(process.stderr),
    process.exited,
  ]);
  return { stdout: stdout.toString(), stderr: stderr.toString(), exit };
}

test('answers its health', async () => {
  expect(await guest.client.health()).toEqual({
    protocol: 1,
    version: '0',
    started_at: expect.stringMatching(/^20\d\d-.*Z$/),
    workspace: true,
  });
});

test.each<[string, ExecCommand['argv'], ExecExit, string]>([
  ['a code', ['sh', '-c', 'exit 3'], { code: 3 }, ''],
  ['a signal', ['sh', '-c', 'kill -KILL $$'], { signal: 'SIGKILL' }, ''],
  ['127 for an unknown program', ['nowhere'], { code: 127 }, 'nowhere: not found\n'],
  ['126 for a folder', ['/usr'], { code: 126 }, '/usr: not executable\n'],
])('ends a command with %s', async (_title, argv, exit, stderr) => {
  expect(await run({ argv })).toEqual({ exit, stdout: '', stderr });
});

// Without input programs are spawned by the C library; with it, by Node.
test.each([undefined, 'input'])(
  'starts a command in a new session, with default signals: input %s',
  async (input) => {
    const script =
      'ps -o pid=,pgid=,sid= -p $$; grep -E "^Sig(Blk|Ign):" /proc/self/status; oom=$(cat /proc/self/oom_score_adj); echo $oom';
    const { stdout, exit } = await run({
      argv: ['sh', '-c', script],
      cwd: '/workspace',
      ...(input === undefined ? {} : { input }),
    });
    const [ids = '', blocked, ignored, oom] = stdout.split('\n');
    expect(exit).toEqual({ code: 0 });
    expect(new Set(ids.trim().split(/ +/)).size).toBe(1);
    expect([blocked, ignored]).toEqual(['SigBlk:\t0000000000000000', 'SigIgn:\t0000000000000000']);
    expect(Number(oom)).toBeGreaterThanOrEqual(800);
  },
);

test('starts a script without an interpreter in a shell, in its folder and environment', async () => {
  const made = 'mkdir -p sub && printf %s \'echo "$0 $1 $NAME $PWD"\' > sub/script && chmod +x sub/script';
  await run({ argv: ['sh', '-c', made] });
  const folder = join(guest.workspace, 'sub');
  const { stdout } = await run({ argv: ['./script', 'ä'], cwd: '/workspace/sub', env: { NAME: 'ü' } });
  expect(stdout).toBe(`${join(folder, 'script')} ä ü ${folder}\n`);
});

test('gives commands pipes that can be opened again', async () => {
  const script = 'echo out > /dev/stdout; echo err > /dev/stderr';
  expect(await run({ argv: ['sh', '-c', script] })).toMatchObject({ stdout: 'out\n', stderr: 'err\n' });
});

test('gives commands such pipes and unpacks FIFOs in an image without programs', async () => {
  const { PATH } = process.env;
  process.env['PATH'] = '/nowhere';
  const bare = await GuestProcess.start().finally(() => (process.env['PATH'] = PATH));
  try {
    const command = await bare.client.exec({ argv: ['/bin/sh', '-c', 'echo err > /dev/stderr'] });
    command.stdout.resume();
    expect((await bytes(command.stderr)).toString()).toBe('err\n');
    const archive = tar({ name: 'pipe', type: '6' });
    const body = Readable.from([archive]);
    await bare.client.json('PUT', '/v1/tar', unpacked, { body });
    expect(statSync(join(bare.workspace, 'pipe')).isFIFO()).toBe(true);
  } finally {
    await bare.stop();
  }
});

test('gives each of 150 commands at once real pipes', async () => {
  const all = await Promise.all(
    Array.from({ length: 150 }, () => run({ argv: ['sh', '-c', 'echo late > /dev/stderr'] })),
  );
  expect(new Set(all.map(({ stderr }) => stderr))).toEqual(new Set(['late\n']));
});

test('carries 8 MiB through stdin and stdout unchanged', async () => {
  const input = randomBytes(8 << 20);
  const process = await guest.client.exec({ argv: ['cat'], stdin: true });
  process.stdin?.end(input);
  process.stderr.resume();
  expect((await bytes(process.stdout)).equals(input)).toBe(true);
  expect(await process.exited).toEqual({ code: 0 });
});

test('kills the group of a command when its connection is lost, and never reports that as an exit', async () => {
  const process = await guest.client.exec({ argv: ['sh', '-c', 'echo $$; sleep 1000 & wait'] });
  process.stderr.resume();
  const pid = Number(await until(process.stdout, '\n'));
  for (const connection of guest.connections) connection.destroy();
  expect(await codeOf(process.exited)).toBe('exec_transport_error');
  const gone = `while kill -0 -- -${pid} 2>/dev/null; do :; done; echo gone`;
  expect((await run({ argv: ['sh', '-c', gone] })).stdout).toBe('gone\n');
});

test('keeps what a command left in the background, and reads its output', async () => {
  const { stdout, exit } = await run({ argv: ['sh', '-c', 'yes noise & echo $! > pid; echo left'] });
  expect(exit).toEqual({ code: 0 });
  expect(stdout).toContain('left\n');
  const busy =
    'p=$(cat pid); a=$(cut -d" " -f14,15 /proc/$p/stat); while [ "$a" = "$(cut -d" " -f14,15 /proc/$p/stat)" ]; do :; done; kill $p';
  expect((await run({ argv: ['sh', '-c', busy] })).exit).toEqual({ code: 0 });
});

test('is held by a reader that stops', async () => {
  const process = await guest.client.exec({
    argv: ['sh', '-c', 'head -c 64000000 /dev/zero; echo done >&2'],
  });
  await once(process.stdout, 'readable');
  await after(200);
  expect(process.stderr.readableLength).toBe(0);
  process.stderr.resume();
  expect((await bytes(process.stdout)).length).toBe(64_000_000);
});

test('runs a terminal, types on it and resizes it', async () => {
  const process = await guest.client.exec({
    argv: ['sh', '-c', 'stty size; read -r line; stty size; echo "got $line"; exit 7'],
    stdin: true,
    tty: { cols: 91, rows: 31 },
  });
  expect(await until(process.stdout, '\n')).toContain('31 91');
  process.resize(120, 40);
  process.stdin?.write('word\n');
  const rest = (await bytes(process.stdout)).toString();
  expect(rest).toContain('40 120');
  expect(rest).toContain('got word');
  expect(await process.exited).toEqual({ code: 7 });
});

test('leaves a command no descriptor but its own three', async () => {
  expect((await run({ argv: ['sh', '-c', 'ls /proc/$$/fd'] })).stdout).toBe('0\n1\n2\n');
});

test('holds no descriptor of commands that have ended', async () => {
  const count = async () => Number((await run({ argv: ['sh', '-c', 'ls /proc/$PPID/fd | wc -l'] })).stdout);
  await count();
  const before = await count();
  await Promise.all(Array.from({ length: 40 }, () => run({ argv: ['cat'], input: 'x' })));
  let now = await count();
  for (let turn = 0; now > before + 1 && turn < 100; turn += 1) now = await count();
  expect(now).toBeLessThanOrEqual(before + 1);
});

test('dials a port on ::1 too, and says when nothing listens', async () => {
  const script = `const s = require('net').createServer((c) => { c.write('hello:'); c.pipe(c); });
    s.listen(0, '::1', () => console.log(s.address().port));`;
  const server = await guest.client.exec({ argv: ['node', '-e', script] });
  server.stderr.resume();
  const port = Number(await until(server.stdout, '\n'));
  expect(await talk(await guest.client.dial(port), 'word')).toBe('hello:word');
  expect(await codeOf(guest.client.dial(1))).toBe('nothing_listens');
  expect(await codeOf(guest.client.dial(70_000))).toBe('invalid_port');
  server.kill('SIGKILL');
});

test('refuses unknown routes, methods and hosts of noise, and goes on', async () => {
  const get = async (path: string, method = 'GET') => await codeOf(guest.client.request(method, path));
  expect(await get('/v1/nothing')).toBe('not_found');
  expect(await get('/v1/health', 'POST')).toBe('exec_transport_error');
  expect(await get('/v1/exec')).toBe('not_found');
  for (let round = 0; round < 20; round += 1) {
    const socket = connect(join(guest.folder, 'guest.sock'));
    socket.on('error', () => {}).resume();
    socket.end(randomBytes(500));
    await once(socket, 'close');
  }
  expect((await run({ argv: ['echo', 'on'] })).stdout).toBe('on\n');
});
