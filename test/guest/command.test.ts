/**
 * `porthole` in a sandbox, against a real guest: servers and processes.
 * Previews: preview-command.test.ts.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { serverInfo } from '#protocol/guest/servers-protocol.ts';
import { guestProcessesOf } from '#test/guest/support/guest-processes.ts';
import { GuestProcess } from '#test/guest/support/guest-process.ts';
import { COMPILE_CACHE } from '#test/support/compile-cache.ts';

const COMMAND = join(import.meta.dirname, '../../guest/porthole.ts');
const NODE = [process.execPath, '--disable-warning=ExperimentalWarning', COMMAND] as const;

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let guest: GuestProcess;
/** An unused port: a different one for each test. */
let port = 20_000 + Math.floor(Math.random() * 10_000);

beforeAll(async () => {
  guest = await GuestProcess.start();
  // Answers once it listens: it starts the commands, so they run later still.
  (await guest.client.call({ method: 'GET', path: '/v1/health' })).resume();
  const page =
    "require('http').createServer((q, r) => r.end('hi')).listen(process.env.PORT, '127.0.0.1', () => console.log(process.env.WORD, process.cwd()))";
  writeFileSync(join(guest.workspace, 'app.js'), page);
});
beforeEach(() => {
  port += 1;
});
afterAll(() => guest.stop());

const environment = (more: Record<string, string> = {}): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  PORTHOLE_GUEST: join(guest.folder, 'state/guest.sock'),
  ...COMPILE_CACHE,
  ...more,
});
const porthole = (args: string, env?: Record<string, string>): Promise<Outcome> =>
  new Promise((resolve) => {
    const options = { env: environment(env), cwd: guest.workspace };
    execFile(NODE[0], [...NODE.slice(1), ...args.split(' ')], options, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
const get = (name: string) => guest.client.json('GET', `/v1/servers/${name}`, serverInfo);

test('starts a server with the folder and the variables of its shell, and says once it is ready', async () => {
  const started = await porthole(`serve ${port} -- node app.js`, { WORD: 'secret' });
  expect(started).toEqual({
    code: 0,
    stdout: `port-${port} is ready on port ${port}. Its logs: porthole logs port-${port}\n`,
    stderr: '',
  });
  const info = await get(`port-${port}`);
  expect(info).toMatchObject({ state: 'ready', argv: ['node', 'app.js'], cwd: guest.workspace, port });
  expect(info.started_by).toEqual({ kind: 'sandbox', id: null });
  expect(JSON.stringify(info)).not.toContain('secret');
  // By its port as well.
  expect(await porthole(`logs ${port}`)).toEqual({
    code: 0,
    stdout: `secret ${guest.workspace}\n`,
    stderr: '',
  });
  // The same command line again: the server keeps running.
  expect((await porthole(`serve ${port} -- node app.js`, { WORD: 'secret' })).code).toBe(0);
  expect((await get(`port-${port}`)).pid).toBe(info.pid);
});

test('lets nothing that another declaration has, unless it replaces it', async () => {
  await porthole(`serve ${port} --name web -- node app.js`);
  const other = await porthole(`serve ${port} --name web -- node app.js more`);
  expect(other).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'porthole: Server web is declared otherwise (node app.js). Add --replace to replace it, or choose another --name.\n',
  });
  expect(await porthole(`serve ${port} --name web --replace -- node app.js more`)).toMatchObject({ code: 0 });
  expect((await get('web')).argv).toEqual(['node', 'app.js', 'more']);
});

test('says what a server that ends printed last', async () => {
  const failed = await porthole(`serve ${port} -- node missing.js`);
  expect([failed.code, failed.stdout]).toEqual([1, '']);
  expect(failed.stderr).toContain('Cannot find module');
  expect(failed.stderr).toMatch(
    new RegExp(
      `porthole: Server port-${port} is not ready: ended with code 1 \\(exited\\); starts again in 0.5 s. porthole stop port-${port} ends that. What it printed last is above.\n$`,
    ),
  );
  const never = await porthole(`serve ${port} --replace --restart never -- false`);
  expect(never).toMatchObject({ code: 1, stderr: expect.stringContaining('ended with code 1 (exited).') });
  const missing = await porthole(`serve ${port} --replace -- no-such-program --port ${port}`);
  expect(missing).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      'not ready: ended with code 127 (program no-such-program not found: install it, or correct the command);',
    ),
  });
  const late = await porthole(`serve ${port} --replace --timeout 1 -- sleep 600`);
  expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('not ready within 1000 ms') });
  await porthole(`stop port-${port} --remove`);
});

test('waits for a path, and for a line', async () => {
  expect(await porthole(`serve ${port} --http / -- node app.js`)).toMatchObject({ code: 0 });
  await porthole(`stop port-${port} --remove`);
  const line = await porthole(`serve ${port} --log there -- node app.js`, { WORD: 'there' });
  expect(line).toMatchObject({ code: 0 });
  const later = await porthole(`serve ${port} --name later --no-wait -- sleep 600`);
  expect(later).toMatchObject({ code: 1, stderr: expect.stringContaining(`in use by server port-${port}`) });
});

test('refuses a port that another program has', async () => {
  const taken: Server = createServer().listen(port, '127.0.0.1');
  await once(taken, 'listening');
  const { code, stderr } = await porthole(`serve ${port} -- node app.js`);
  taken.close();
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(new RegExp(`^porthole: Port ${port} is in use by .* \\(pid \\d+\\)\\. End it, or`)),
  ]);
});

test('lists what was started, and stops it by its name', async () => {
  const api = guestProcessesOf(guest.client);
  const runs = await api.start({ argv: ['sleep', '600'], name: 'long' });
  const ended = await api.start({ command: 'exit 3' });
  await api.wait(ended.id);
  await porthole(`serve ${port} --name listed -- node app.js`);
  const { stdout } = await porthole('ps');
  const [head, ...rows] = stdout.trim().split('\n');
  expect(head).toMatch(/^NAME +STATE +PORT +PID +AGE +COMMAND$/);
  expect(rows).toContainEqual(
    expect.stringMatching(new RegExp(`^listed +ready +${port} +\\d+ +\\d+s +node app.js$`)),
  );
  expect(rows).toContainEqual(
    expect.stringMatching(new RegExp(`^${runs.id} +running +- +\\d+ .*sleep 600$`)),
  );
  expect(stdout).not.toContain(ended.id);
  expect((await porthole('ps -a')).stdout).toMatch(new RegExp(`^${ended.id} +code 3 +`, 'm'));
  const json = JSON.parse((await porthole('ps --json')).stdout) as Record<string, { name: string }[]>;
  expect(json['processes']?.map(({ name }) => name)).toContain('long');

  expect(await porthole('stop long')).toEqual({ code: 0, stdout: `${runs.id} is stopped.\n`, stderr: '' });
  expect((await api.get(runs.id)).exit).toMatchObject({ signal: 'SIGTERM' });
  expect((await porthole('stop listed')).stdout).toBe('listed is stopped.\n');
  expect((await get('listed')).state).toBe('stopped');
  expect((await porthole('stop listed --remove')).stdout).toBe('listed is stopped and removed.\n');
  const gone = await porthole('stop listed');
  expect(gone).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^porthole: No server or process listed\. There are: /),
  });
});

test('follows logs, those of stderr on stderr, and reports the end', async () => {
  const api = guestProcessesOf(guest.client);
  const talks = await api.start({
    argv: ['sh', '-c', 'echo one; echo two >&2; read x; exit 4'],
    stdin: true,
  });
  const following = spawn(NODE[0], [...NODE.slice(1), 'logs', talks.id, '-f'], { env: environment() });
  let [stdout, stderr] = ['', ''];
  following.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  following.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    void api.input(talks.id, '\n', true);
  });
  const [code] = (await once(following, 'close')) as [number];
  expect([code, stdout, stderr]).toEqual([0, 'one\n', 'two\nporthole: ended: code 4.\n']);
});

test.each<[string, string]>([
  ['serve', 'serve needs PORT.'],
  ['serve 3000', 'serve needs -- and a command.'],
  ['serve 3000 npm', 'Put -- before the command: got npm.'],
  ['serve web -- npm', 'A port is a number from 1 to 65535, got web.'],
  [
    'serve 3000 --name 42 -- npm',
    '--name takes up to 63 of a-z, 0-9 and -, and a letter among them, got 42.',
  ],
  ['serve 3000 --restart maybe -- npm', '--restart takes always, on-failure, never, got maybe.'],
  ['serve 3000 --colour -- npm', "Unknown option '--colour'."],
  ['logs', 'logs needs NAME.'],
  ['logs a b', 'One argument too many: b.'],
  ['ps a', 'One argument too many: a.'],
  ['stop 3000 --remove', '--remove needs the name of a server, got the port 3000.'],
])('exits 2 for %s, and says how it is used', async (args, says) => {
  const { code, stdout, stderr } = await porthole(args);
  expect([code, stdout, stderr.split('\n')[0]]).toEqual([2, '', `porthole: ${says}`]);
  expect(stderr).toMatch(/^usage: porthole /m);
});

test('prints its help', async () => {
  const general = await porthole('--help');
  expect([general.code, general.stdout]).toEqual([0, expect.stringContaining('serve PORT -- COMMAND…')]);
  const serve = await porthole('serve --help');
  expect([serve.code, serve.stdout]).toEqual([
    0,
    expect.stringContaining('porthole serve 3000 -- npm run dev'),
  ]);
});

test('exits 5 without a guest, and says what to do', async () => {
  expect(await porthole('ps', { PORTHOLE_GUEST: '' })).toMatchObject({
    code: 5,
    stderr:
      'porthole: PORTHOLE_GUEST is not set. Run it in a sandbox, with the environment that its commands get.\n',
  });
  expect(await porthole('ps', { PORTHOLE_GUEST: join(guest.folder, 'none.sock') })).toMatchObject({
    code: 5,
    stderr: expect.stringMatching(
      /^porthole: The guest of this sandbox does not answer \(ENOENT\)\. Stop and resume/,
    ),
  });
});

test.each(['no JSON', '{}', '{"processes": [{}]}'])(
  'exits 5 where another program answers %s',
  async (answer) => {
    const other = createHttpServer((_request, response) => response.end(answer));
    const socket = join(guest.folder, 'other.sock');
    await new Promise<void>((resolve) => other.listen(socket, resolve));
    try {
      const { code, stderr } = await porthole('ps', { PORTHOLE_GUEST: socket });
      expect([code, stderr]).toEqual([
        5,
        expect.stringMatching(
          /^porthole: The guest of this sandbox gives an answer of another program \(.+\n$/,
        ),
      ]);
    } finally {
      other.close();
    }
  },
);

test('reaches what it needs of the guest, and no more, by a socket of the user alone', async () => {
  expect(statSync(environment()['PORTHOLE_GUEST'] ?? '').mode & 0o777).toBe(0o600);
  const asked = await new Promise<string>((resolve) => {
    const get = 'GET /v1/files?path=/workspace/app.js HTTP/1.1\r\nHost: guest\r\nConnection: close\r\n\r\n';
    const program = `const s = require('net').connect(process.env.PORTHOLE_GUEST); s.write(${JSON.stringify(get)}); s.pipe(process.stdout)`;
    execFile(process.execPath, ['-e', program], { env: environment() }, (_error, stdout) => resolve(stdout));
  });
  expect(asked).toMatch(/^HTTP\/1\.1 404 /);
});
