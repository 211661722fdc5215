import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:net';
import type { Writable } from 'node:stream';
import type { Launcher } from './launch.ts';
import { identify, type ProcessIdentity } from './process-identity.ts';

/** Of the host's environment nothing goes along, or it could be read through /proc/1/environ. */
export const SYSTEM_PATH = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

/** Shell: what is killed first where memory runs out. A higher value of the host's stays. */
const KILLED_FIRST = `{ read -r own </proc/self/oom_score_adj && [ "$own" -lt 500 ] && echo 500 >/proc/self/oom_score_adj; } 2>/dev/null`;

/**
 * Waits for the word before it becomes the sandbox: a host that dies before it has written down the
 * pid leaves nothing.
 */
const GATE = `${KILLED_FIRST}; read -r word && [ "$word" = go ] || exit 1; exec "$@"`;

/** Where the rest of what it is told goes. */
const TO_DESCRIPTOR_4 = '4<&0 </dev/null';
const NOWHERE = '</dev/null';

const MOST_ERROR_TEXT = 2048;

export interface Spawned {
  readonly process: ProcessIdentity;
  /** Lets it start. */
  go(): void;
  /** Resolves when it has ended, to its exit code and what it said on stderr (cut at 2 KiB). */
  readonly ended: Promise<{ code: number | null; said: string }>;
  /**
   * Lets go of it once it runs: its stderr is not read any more, and it keeps this process from
   * nothing.
   */
  release(): void;
}

/** Node passes descriptors on by number, and tells a listener's number only here. */
function descriptorOf(listener: Server): number {
  return (listener as unknown as { readonly _handle: { readonly fd: number } })._handle.fd;
}

/** Starts a sandbox's outermost process in a session of its own, so that it outlives this host. */
export async function spawnSandbox(
  { argv, input, filter }: Pick<ReturnType<Launcher>, 'argv' | 'input' | 'filter'>,
  listener?: Server,
): Promise<Spawned> {
  const gate = `${GATE} ${input === undefined ? NOWHERE : TO_DESCRIPTOR_4}`;
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
  // Processes around the sandbox keep their end for life; ours would keep this host from ending.
  fifth?.end(filter, () => fifth.destroy());
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    if (said.length < MOST_ERROR_TEXT) said += chunk.toString().slice(0, MOST_ERROR_TEXT - said.length);
  });
  child.stderr?.on('error', () => {});
  child.stdin?.on('error', () => {});
  const ended = new Promise<{ code: number | null; said: string }>((resolve) => {
    child.once('exit', (code) => resolve({ code, said: said.trim() }));
  });
  await once(child, 'spawn');
  const process = identify(child.pid as number);
  if (process === undefined) throw new Error('the process was gone before it began');
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
