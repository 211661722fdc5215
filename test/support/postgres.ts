import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  accessSync,
  chownSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { oncePerRun } from './once-per-run.ts';
import type { Missing } from './suite.ts';

/** A PostgreSQL server for tests. */
export interface TestPostgres {
  /** `postgres://` with a password, on 127.0.0.1, to the database `postgres`. */
  readonly url: string;
  /** The same server by its unix socket: libpq's query parameters instead of a host. */
  readonly socketUrl: string;
  /** Stops the server and removes its folder. */
  stop(): Promise<void>;
}

const BIN = findBin();
const PASSWORD = 'open-sesame-4711';

/** Why this machine cannot run PostgreSQL. */
export const postgresMissing: Missing =
  BIN === undefined ? 'PostgreSQL is not installed: apt-get install postgresql' : undefined;

/**
 * Starts a throw-away server in a temporary folder, within about two seconds. PostgreSQL refuses to
 * run as root: then it runs as an unprivileged user. A small shell guards it: when this process
 * ends in any way, the pipe to the guard closes, and server and folder are removed.
 */
export async function startPostgres(): Promise<TestPostgres> {
  if (BIN === undefined) throw new Error(postgresMissing);
  const folder = mkdtempSync(join(tmpdir(), 'porthole-pg-'));
  const user = unprivilegedUser();
  if (user) chownSync(folder, user.uid, user.gid);
  try {
    const env = { PATH: process.env['PATH'], LC_ALL: 'C', PASSWORD };
    const fresh = await oncePerRun(`postgres-${basename(dirname(BIN))}`, async (target) => {
      mkdirSync(target);
      if (user) chownSync(target, user.uid, user.gid);
      await promisify(execFile)('/bin/sh', ['-c', INITDB, 'initdb', BIN, target], { ...user, env });
    });
    const port = await freePort();
    const guard = spawn('/bin/sh', ['-c', GUARD, 'guard', BIN, folder, String(port), fresh], {
      ...user,
      cwd: folder,
      // A terminal's Ctrl-C must reach only the tests: the guard reacts to their end.
      detached: true,
      env,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    await ready(guard);
    const path = encodeURIComponent(folder);
    return {
      url: `postgres://porthole:${PASSWORD}@127.0.0.1:${port}/postgres`,
      socketUrl: `postgres://porthole@localhost:${port}/postgres?host=${path}`,
      async stop() {
        const ended = guard.exitCode === null && guard.signalCode === null ? once(guard, 'exit') : undefined;
        guard.stdin?.end();
        await ended;
        rmSync(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Takes half a second: suites start from copies. */
const INITDB = `
bin=$1 folder=$2
printf %s "$PASSWORD" > "$folder/password"
"$bin/initdb" -D "$folder/data" -U porthole --auth-local=trust --auth-host=scram-sha-256 \\
  --pwfile="$folder/password" --no-sync --encoding=UTF8 --no-locale >/dev/null
`;

/** No fsync: the data never outlives the test. SIGQUIT: connections do not either. */
const GUARD = `
bin=$1 folder=$2 port=$3 fresh=$4
cp -a "$fresh/data" "$folder/data" || exit 1
"$bin/postgres" -D "$folder/data" -k "$folder" -c listen_addresses=127.0.0.1 -p "$port" \\
  -F -c full_page_writes=off -c synchronous_commit=off -c shared_buffers=16MB -c max_connections=200 \\
  -c wal_level=minimal -c max_wal_senders=0 -c autovacuum=off >/dev/null &
postgres=$!
cat >/dev/null
kill -QUIT "$postgres"
wait "$postgres"
rm -rf "$folder"
`;

/** Resolves when the server accepts connections, and rejects with its output if it fails. */
async function ready(guard: ChildProcess): Promise<void> {
  const said: string[] = [];
  if (!guard.stderr) throw new Error('the server has no stderr');
  const lines = createInterface({ input: guard.stderr });
  await new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      said.push(line);
      if (line.includes('database system is ready to accept connections')) resolve();
      // The guard itself still waits for its pipe.
      if (line.includes('database system is shut down')) guard.stdin?.end();
    });
    guard.once('error', reject);
    guard.once('exit', () => reject(new Error(`PostgreSQL did not start: ${said.join('\n')}`)));
  });
}

function findBin(): string | undefined {
  const debian = '/usr/lib/postgresql';
  let versions: string[] = [];
  try {
    versions = readdirSync(debian).sort((a, b) => Number(b) - Number(a));
  } catch {
    // Not Debian.
  }
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...versions.map((version) => join(debian, version, 'bin')),
  ];
  return folders.find((folder) => ['initdb', 'postgres'].every((name) => isExecutable(join(folder, name))));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Undefined for a nonroot user, who runs the server directly. */
function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [name, , uid, gid] = line.split(':');
    if (name === 'postgres') return { uid: Number(uid), gid: Number(gid) };
  }
  return { uid: 65534, gid: 65534 };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
