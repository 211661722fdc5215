/**
 * What keeps the guest running whatever one command does, and commands apart from what is the
 * guest's.
 */
import { chmodSync, closeSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';

const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes descriptors above `last` that came down from the process that started the host, such as a
 * terminal or a build server's pipes, so that no command holds them. Node marks its own to close
 * when a program is started.
 */
export function closeInherited(last: number): void {
  if (process.platform !== 'linux') return;
  for (const name of readdirSync('/proc/self/fd')) {
    const descriptor = Number(name);
    if (descriptor <= last) continue;
    try {
      const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'latin1'))?.[1];
      if (flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0) closeSync(descriptor);
    } catch {
      // The listing's own descriptor is gone by now.
    }
  }
}

/** @param endCommands kills what runs, where no pid namespace does it at the end */
export function protectGuest(endCommands: () => void): void {
  // One command that fails in an unforeseen way must not end all the others, and the servers they
  // left behind.
  process.on('uncaughtException', () => {});
  process.on('unhandledRejection', () => {});
  process.on('SIGHUP', () => {});
  process.on('SIGTERM', () => {
    endCommands();
    process.exit(0);
  });
}

const OOM_SCORE = '/proc/self/oom_score_adj';

/** That of commands. */
const EXPENDABLE = 800;

let ownScore: number | undefined;

function setScore(score: number): void {
  try {
    writeFileSync(OOM_SCORE, String(score));
  } catch {
    // No /proc, or the value is below what this user may set.
  }
}

/**
 * Starts a command that is killed before the guest where memory runs out: with the guest everything
 * ends. A child inherits the value at its birth; a later write would miss its first children.
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

/** What the user of a folder needs to work in it. */
const OWN = 0o700;

/**
 * Gives a folder that its own user has shut, as by `chmod 000 .`, back to its user: nothing would
 * work any more.
 */
export function openFolder(path: string): void {
  try {
    const { mode } = statSync(path);
    if ((mode & OWN) !== OWN) chmodSync(path, (mode & 0o777) | OWN);
  } catch {
    // Gone, or another user's: it stays, and fails as it does.
  }
}

/**
 * Sends a signal to a process group; one that is gone already is no error. @returns whether it was
 * there
 */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    // ESRCH: the group has ended in the meantime.
    return false;
  }
}

/**
 * The process groups that were started, so that all can be ended where no pid namespace does it.
 */
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
