import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';

/** The pids of this machine's processes with `mark` in their command line; zombies have none. */
export function processesWith(mark: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      const found = /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(mark);
      return found && Number(name) !== process.pid ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

/**
 * The files that the processes of this machine hold open, of one process and those below it, or of
 * all. As root: a guest hides its own from the commands of its sandbox.
 */
export function openFiles(below?: number): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const parents = new Map(pids.map((pid) => [pid, /^PPid:\s+(\d+)/m.exec(ofProcess(pid, 'status'))?.[1]]));
  const isBelow = (pid: string | undefined): boolean =>
    pid !== undefined && (pid === String(below) || isBelow(parents.get(pid)));
  return pids.filter((pid) => below === undefined || isBelow(pid)).flatMap(filesOf);
}

function filesOf(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((name) => readlinkSync(`/proc/${pid}/fd/${name}`));
  } catch {
    // It has ended, or closed the file.
    return [];
  }
}

function ofProcess(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** Resolves to true once `check` holds, to false after 10 s. For states without an event. */
export async function comesTrue(check: () => boolean): Promise<boolean> {
  for (const until = performance.now() + 10_000; performance.now() < until; await after(10)) {
    if (check()) return true;
  }
  return false;
}
