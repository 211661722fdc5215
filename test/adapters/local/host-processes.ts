import { readdirSync, readFileSync } from 'node:fs';
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

/** Resolves to true once `check` holds, to false after 10 s. For states without an event. */
export async function comesTrue(check: () => boolean): Promise<boolean> {
  for (const until = performance.now() + 10_000; performance.now() < until; await after(10)) {
    if (check()) return true;
  }
  return false;
}
