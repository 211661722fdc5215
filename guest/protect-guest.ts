/** Protects the guest from its commands, and commands from the guest's descriptors. */
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { ofLibrary } from '../base/foreign-calls.ts';

const CLOSE_ON_EXEC = 0o2000000;

/** Each makes Node read files of authorities. */
const AUTHORITIES = ['NODE_EXTRA_CA_CERTS', 'NODE_USE_SYSTEM_CA', 'NODE_OPTIONS'] as const;

/**
 * Closes inherited descriptors above `last`, such as a terminal or a build server's pipes, so that
 * no command holds them. Node's own descriptors are close-on-exec, except those of the thread that
 * reads authorities once node:tls is loaded. It would close the same number a second time, by then
 * another file's: so it ends first.
 */
export function closeInherited(last: number): void {
  if (process.platform !== 'linux') return;
  if (AUTHORITIES.some((name) => process.env[name])) {
    process.getBuiltinModule('node:tls').getCACertificates('default');
  }
  for (const name of readdirSync('/proc/self/fd')) {
    const descriptor = Number(name);
    if (descriptor <= last) continue;
    try {
      const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'latin1'))?.[1];
      if (flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0) closeSync(descriptor);
    } catch {
      // The listing's own descriptor is already closed.
    }
  }
}

/** @param endCommands kills all commands if no pid namespace does */
export function protectGuest(endCommands: () => void): void {
  // An unforeseen failure of one command must not end the others and their servers.
  process.on('uncaughtException', () => {});
  process.on('unhandledRejection', () => {});
  process.on('SIGHUP', () => {});
  // Without a handler it would end the guest: its Node runs with --disable-sigusr1.
  process.on('SIGUSR1', () => {});
  process.on('SIGTERM', () => {
    endCommands();
    process.exit(0);
  });
}

const OOM_SCORE = '/proc/self/oom_score_adj';

/** oom_score_adj of commands. */
const EXPENDABLE = 800;

let ownScore: number | undefined;
let scoreFile: number | undefined;

/** prctl(2). */
const PR_SET_DUMPABLE = 4;

/**
 * Makes the guest's memory and descriptors unreachable for commands, which have the same user: the
 * kernel then refuses ptrace(2), and gives files of /proc/PID to root. One of them the guest writes
 * itself, and so opens before.
 */
export function hideGuest(): void {
  if (process.platform !== 'linux') return;
  try {
    scoreFile = openSync(OOM_SCORE, 'r+');
  } catch {
    // No /proc: commands keep the guest's value.
  }
  const hidden = ofLibrary((libc) =>
    libc.func('prctl', 'int', ['int', 'ulong', 'ulong', 'ulong', 'ulong'])(PR_SET_DUMPABLE, 0, 0, 0, 0),
  )();
  if (hidden !== 0) process.stderr.write('porthole-guest: commands can read its memory\n');
}

function setScore(score: number): void {
  if (scoreFile === undefined) return;
  try {
    writeSync(scoreFile, String(score), 0);
  } catch {
    // The value is below what this user may set.
  }
}

/**
 * Starts a command that the OOM killer prefers over the guest: with the guest everything ends. A
 * child inherits the value at its birth; a later write would miss its first children.
 */
export function expendable<T>(start: () => T): T {
  ownScore ??= readScore();
  if (ownScore >= EXPENDABLE) return start();
  setScore(EXPENDABLE);
  try {
    return start();
  } finally {
    setScore(ownScore);
  }
}

function readScore(): number {
  try {
    return Number(readFileSync(OOM_SCORE, 'latin1'));
  } catch {
    return EXPENDABLE;
  }
}

/**
 * Sends a signal to a process group; a group that is gone is not an error. @returns whether it
 * existed
 */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    // ESRCH: the group has ended meanwhile.
    return false;
  }
}

/** The started process groups, to end them all if no pid namespace does. */
export class Groups {
  readonly #ids = new Set<number>();

  add(id: number): void {
    for (const one of this.#ids) {
      try {
        process.kill(-one, 0);
      } catch {
        this.#ids.delete(one);
      }
    }
    this.#ids.add(id);
  }

  end(): void {
    for (const id of this.#ids) signalGroup(id, 'SIGKILL');
  }
}
