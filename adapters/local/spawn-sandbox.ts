import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:net';
import { constants, getPriority, setPriority } from 'node:os';
import type { Writable } from 'node:stream';
import { joinNewKeyring } from './kernel-bounds.ts';
import type { Launcher } from './launch.ts';
import { identify, type ProcessIdentity } from './process-identity.ts';

/** Nothing of the host's environment is passed on: it would be readable in /proc/1/environ. */
export const SYSTEM_PATH = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

/** Shell: kills the sandbox first when memory runs out. A higher value of the host's stays. */
const KILLED_FIRST = `{ read -r own </proc/self/oom_score_adj && [ "$own" -lt 500 ] && echo 500 >/proc/self/oom_score_adj; } 2>/dev/null`;

/**
 * The host answers all users: a sandbox with programs that compute, or with a large archive, yields
 * the processor to it. In steps of niceness above the host's own.
 */
const NICER = 5;

/**
 * Waits for `go` before it becomes the sandbox: if the host dies before it has recorded the pid,
 * nothing stays behind.
 */
const GATE = `${KILLED_FIRST}; read -r word && [ "$word" = go ] || exit 1; exec "$@"`;

/** The rest of stdin moves to descriptor 4. */
const TO_DESCRIPTOR_4 = '4<&0 </dev/null';
const NOWHERE = '</dev/null';

const MAX_ERROR_CHARS = 2048;

interface Spawned {
  readonly process: ProcessIdentity;
  go(): void;
  /** Resolves when it has ended, to its exit code and its stderr (cut at 2 KiB). */
  readonly ended: Promise<{ code: number | null; said: string }>;
  /** Detaches once it runs: stops reading its stderr and no longer keeps this process alive. */
  release(): void;
}

/** Node passes descriptors on by number, and exposes a listener's number only here. */
function descriptorOf(listener: Server): number {
  return (listener as unknown as { readonly _handle: { readonly fd: number } })._handle.fd;
}

/** Starts a sandbox's outermost process in its own session, so that it outlives this host. */
export async function spawnSandbox(
  { argv, newKeyring, input, filter }: Omit<ReturnType<Launcher>, 'shared'>,
  listener?: Server,
): Promise<Spawned> {
  const gate = `${GATE} ${input === undefined ? NOWHERE : TO_DESCRIPTOR_4}`;
  if (newKeyring) joinNewKeyring();
  const child: ChildProcess = spawn('sh', ['-c', gate, 'sh', ...argv], {
    cwd: '/',
    env: SYSTEM_PATH,
    detached: true,
    stdio: [
      'pipe',
      'ignore',
      'pipe',
      listener === undefined ? 'ignore' : descriptorOf(listener),
      ...(filter === undefined ? [] : (['ignore', 'pipe'] as const)),
    ],
  });
  const fifth = (child.stdio as readonly unknown[])[5] as Writable | undefined;
  fifth?.on('error', () => {});
  // Processes around the sandbox keep their end open for life; an open end here would keep this
  // host from exiting.
  fifth?.end(filter, () => fifth.destroy());
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    if (said.length < MAX_ERROR_CHARS) said += chunk.toString().slice(0, MAX_ERROR_CHARS - said.length);
  });
  child.stderr?.on('error', () => {});
  child.stdin?.on('error', () => {});
  const ended = new Promise<{ code: number | null; said: string }>((resolve) => {
    child.once('exit', (code) => resolve({ code, said: said.trim() }));
  });
  await once(child, 'spawn');
  const process = identify(child.pid as number);
  if (process === undefined) throw new Error('the process was gone before it began');
  setPriority(process.pid, Math.min(getPriority() + NICER, constants.priority.PRIORITY_LOW));
  return {
    process,
    ended,
    go: () => child.stdin?.end(`go\n${input ?? ''}`),
    release: () => {
      child.stderr?.destroy();
      child.unref();
    },
  };
}
