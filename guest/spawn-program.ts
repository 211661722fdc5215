/**
 * Starts programs with posix_spawn(3), which shares the guest's memory until the program runs. Node
 * forks, which copies page tables and then pages.
 */
import { closeSync } from 'node:fs';
import { type Library, ofLibrary } from '../base/foreign-calls.ts';
import type { CommandExit } from '../protocol/guest/exec-protocol.ts';
import { signalName } from '../protocol/guest/signals.ts';
import type { PreparedCommand } from './start-command.ts';

/**
 * Starts a program in a new session. Calls `exited` in the turn in which its pid becomes free.
 * Returns undefined where it does not start: Node starts it then, or says why it cannot.
 */
type Spawn = (
  command: Omit<PreparedCommand, 'stdin'>,
  /** Without `stdin` it is empty. */
  streams: { readonly stdin?: number; readonly stdout: number; readonly stderr: number },
  exited: (exit: CommandExit) => void,
) => number | undefined;

const opened = ofLibrary(openSpawn);
export const spawnProgram: Spawn = (...program) => opened()?.(...program);

/** Of <spawn.h>, the same in glibc and musl. A new session, as Node's `detached`. */
const [SETSIGDEF, SETSIGMASK, SETSID] = [0x04, 0x08, 0x80];
/** waitpid(2). */
const WNOHANG = 1;
/** More than the opaque types of <spawn.h> take in either library: 336 and 80 bytes. */
const OPAQUE = 1_024;
/** Size of sigset_t. */
const SIGNALS = 128;

function openSpawn(libc: Library): Spawn {
  const attributes = Buffer.alloc(OPAQUE);
  const actions = Buffer.alloc(OPAQUE);
  const pid = Buffer.alloc(4);
  const status = Buffer.alloc(4);
  const attribute = (name: string, parameter: string) =>
    libc.func(`posix_spawnattr_${name}`, 'int', ['void *', parameter]);
  const action = (name: string, ...parameters: string[]) =>
    libc.func(`posix_spawn_file_actions_${name}`, 'int', ['void *', ...parameters]);
  libc.func('posix_spawnattr_init', 'int', ['void *'])(attributes);
  attribute('setflags', 'short')(attributes, SETSIGDEF | SETSIGMASK | SETSID);
  // Node ignores SIGPIPE, and handles others: programs expect the defaults, and nothing blocked.
  attribute('setsigdefault', 'void *')(attributes, Buffer.alloc(SIGNALS, 0xff));
  attribute('setsigmask', 'void *')(attributes, Buffer.alloc(SIGNALS));
  const [init, destroy] = [action('init'), action('destroy')];
  const open = action('addopen', 'int', 'const char *', 'int', 'int');
  const dup2 = action('adddup2', 'int', 'int');
  const chdir = action('addchdir_np', 'const char *');
  const spawn = libc.func('posix_spawn', 'int', [
    'void *',
    'const char *',
    'void *',
    'void *',
    'const char **',
    'const char **',
  ]);
  const waitpid = libc.func('waitpid', 'int', ['int', 'void *', 'int']);

  const running = new Map<number, (exit: CommandExit) => void>();
  const reap = (): void => {
    for (const [id, exited] of running) {
      if (waitpid(id, status, WNOHANG) !== id) continue;
      running.delete(id);
      exited(exitOf(status.readInt32LE()));
    }
  };
  // Before the first start, so that no exit is missed.
  process.on('SIGCHLD', reap);

  return ({ file, argv, cwd, env }, { stdin, stdout, stderr }, exited) => {
    init(actions);
    try {
      const failed =
        (stdin === undefined ? open(actions, 0, '/dev/null', 0, 0) : dup2(actions, stdin, 0)) ||
        dup2(actions, stdout, 1) ||
        dup2(actions, stderr, 2) ||
        chdir(actions, cwd) ||
        spawn(pid, file, actions, attributes, [...argv, null], [...textsOf(env), null]);
      if (failed !== 0) return undefined;
    } finally {
      destroy(actions);
    }
    const id = pid.readInt32LE();
    running.set(id, exited);
    return id;
  };
}

function* textsOf(env: Readonly<Record<string, string>>): Generator<string> {
  for (const name in env) yield `${name}=${env[name]}`;
}

/** Of a wait status, as wait(2) describes it; Linux has one layout on all machines. */
function exitOf(status: number): CommandExit {
  const signal = status & 0x7f;
  return signal === 0 ? { code: (status >> 8) & 0xff } : { signal: signalName(signal) };
}

/** One standard stream of a command. */
interface CommandPipe {
  /** The guest's end. */
  readonly ours: number;
  /** The command's end, blocking as programs expect; close it once the command has it. */
  readonly theirs: number;
}

const O_CLOEXEC = 0o2000000;
const pipe2 = ofLibrary((libc) => libc.func('pipe2', 'int', ['void *', 'int']));

/**
 * Pipes for the output of a command. Node gives its children sockets, and a socket cannot be opened
 * a second time: `echo oops > /dev/stderr` fails on one. Undefined without the foreign calls, or
 * without free descriptors.
 */
export function openOutputPipes(): readonly [CommandPipe, CommandPipe] | undefined {
  const stdout = openPipe();
  const stderr = stdout && openPipe();
  if (stdout !== undefined && stderr !== undefined) return [stdout, stderr];
  if (stdout !== undefined) discardPipe(stdout);
  return undefined;
}

function openPipe(): CommandPipe | undefined {
  const ends = openEnds();
  return ends && { ours: ends.read, theirs: ends.write };
}

/** @see openOutputPipes */
export function openInputPipe(): CommandPipe | undefined {
  const ends = openEnds();
  return ends && { ours: ends.write, theirs: ends.read };
}

function openEnds(): { readonly read: number; readonly write: number } | undefined {
  const descriptors = Buffer.alloc(8);
  if (pipe2()?.(descriptors, O_CLOEXEC) !== 0) return undefined;
  return { read: descriptors.readInt32LE(0), write: descriptors.readInt32LE(4) };
}

export function discardPipe({ ours, theirs }: CommandPipe): void {
  closeSync(theirs);
  closeSync(ours);
}
