/**
 * A program of a sandbox that holds what forks of its memory share. `GET /{name}` on port 3000
 * calls the function of that name.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync, readSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connect as connectTls } from 'node:tls';

const RUNS = join(homedir(), '.porthole/runs');

function credentials() {
  return readdirSync(RUNS).map((name) => {
    const text = readFileSync(join(RUNS, name), 'utf8');
    const field = (key) => new RegExp(`^${key}=(.*)$`, 'm').exec(text)?.[1];
    return { run: field('run'), token: field('token') };
  });
}

/** The status of a call through the channel of this sandbox. */
function statusOf({ run, token }) {
  const headers = { authorization: `Bearer ${token}` };
  const options = { socketPath: '/run/porthole/porthole.sock', path: `/api/runs/${run}/inbox`, headers };
  return new Promise((resolve, reject) =>
    request(options, (answer) => resolve(answer.resume().statusCode))
      .on('error', reject)
      .end(),
  );
}

function tunnelTo(host) {
  return new Promise((resolve, reject) =>
    request({ port: 2792, method: 'CONNECT', path: host })
      .on('connect', (_answer, socket) => resolve(socket))
      .on('error', reject)
      .end(),
  );
}

/** Resolves with the time at which the end of an idle connection was seen. */
function endOf(socket) {
  return new Promise((resolve) =>
    socket
      .on('error', () => {})
      .once('close', () => resolve(Date.now()))
      .resume(),
  );
}

let session;

async function connectSecurely() {
  const servername = 'tls.example.test';
  const socket = await tunnelTo(`${servername}:443`);
  const secure = connectTls({ socket, servername, rejectUnauthorized: false, session });
  secure.on('session', (ticket) => (session = ticket));
  await new Promise((resolve, reject) => secure.once('data', resolve).once('error', reject));
  return secure;
}

function urandom() {
  const file = openSync('/dev/urandom', 'r');
  const bytes = Buffer.alloc(16);
  readSync(file, bytes);
  closeSync(file);
  return bytes.toString('hex');
}

const LINES = `import random, secrets, sys
for _ in sys.stdin: print(random.random(), secrets.token_hex(16), flush=True)`;
const python = spawn('/usr/bin/python3', ['-c', LINES], { stdio: ['pipe', 'pipe', 'inherit'] });
const lines = createInterface(python.stdout)[Symbol.asyncIterator]();

const locks = ['/tmp/lock', '/workspace/lock'].map((file) => {
  const { pid } = spawn('flock', ['--no-fork', file, 'sleep', '100000']);
  return { file, pid };
});

writeFileSync('/tmp/kept', 'kept');
const removed = ['/tmp/removed', '/workspace/removed'].map((path) => {
  const file = openSync(path, 'w+');
  writeFileSync(path, 'removed');
  unlinkSync(path);
  return file;
});

const TICK_MS = 20;
let ticks = 0;
setInterval(() => (ticks += 1), TICK_MS);

const held = credentials();
const ends = Promise.all([await tunnelTo('plain.example.test:7000'), await connectSecurely()].map(endOf));

const answers = {
  random: async () => {
    python.stdin.write('\n');
    const [generator, secret] = (await lines.next()).value.split(' ');
    const alike = { math: Math.random(), bytes: randomBytes(16).toString('hex'), generator };
    return { alike, kernel: { urandom: urandom(), secret } };
  },
  clock: () => ({ now: Date.now(), uptime: performance.now(), ticked: ticks * TICK_MS }),
  ends: () => ends,
  inside: () => new Promise((resolve) => inside.once('data', () => resolve(inside.readyState)).write('x')),
  secure: async () => {
    const socket = await connectSecurely();
    return { resumed: socket.isSessionReused() };
  },
  credentials: async () => ({
    held: await Promise.all(held.map(statusOf)),
    given: await Promise.all(credentials().map(statusOf)),
    tokens: credentials().map(({ token }) => token),
  }),
  identity: () => ({
    pids: [process.pid, python.pid, ...locks.map(({ pid }) => pid)],
    hostname: hostname(),
    variable: process.env.SANDBOX_ID,
  }),
  removed: () =>
    removed.map((file) => {
      const bytes = Buffer.alloc(7);
      readSync(file, bytes, 0, 7, 0);
      return bytes.toString();
    }),
  unlock: () => locks.map(({ pid }) => process.kill(pid)),
};

const server = createServer(({ url }, response) => {
  Promise.resolve()
    .then(() => answers[url.slice(1)]())
    .then((value) => response.end(JSON.stringify(value)))
    .catch((error) => response.writeHead(500).end(String(error.stack)));
});
server.on('upgrade', (_request, socket) => socket.pipe(socket));
await new Promise((resolve) => server.listen(3000, '127.0.0.1', resolve));
const inside = connect(3000, '127.0.0.1');
inside.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n');
