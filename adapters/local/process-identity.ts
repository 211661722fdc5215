import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Identifies a process uniquely: the kernel reuses pids, and after a reboot also the pair of pid
 * and start time.
 */
export interface ProcessIdentity {
  readonly pid: number;
  /**
   * Clock ticks since boot and the boot's id; on systems other than Linux the start time as `ps`
   * prints it.
   */
  readonly start: string;
}

const boot = ((): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
})();

/** Of this boot of the machine; empty on systems other than Linux. */
export const bootId = (): string => boot;

function startOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return startByPs(pid);
  try {
    // UTF-8: Node reads it in one call. The name may contain anything, and is cut off.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Field 2 is the program's name in parentheses and may contain anything; parse after the last
    // parenthesis.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ended = fields[0] === 'Z' || fields[0] === 'X';
    return ended ? undefined : `${fields[19]}@${boot}`;
  } catch {
    return undefined;
  }
}

function startByPs(pid: number): string | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return line === '' || line.startsWith('Z') ? undefined : line.slice(line.indexOf(' ')).trim();
  } catch {
    return undefined;
  }
}

/** Undefined if there is no such process, or it is a zombie. */
export function identify(pid: number): ProcessIdentity | undefined {
  const start = startOf(pid);
  return start === undefined ? undefined : { pid, start };
}

export function isAlive(process: ProcessIdentity): boolean {
  return startOf(process.pid) === process.start;
}

/** The children of a process, oldest first; empty if the kernel does not list them. */
export function childrenOf(parent: ProcessIdentity): ProcessIdentity[] {
  try {
    const listed = readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, 'utf8');
    const children = listed.split(' ').flatMap((pid) => (pid === '' ? [] : (identify(Number(pid)) ?? [])));
    return isAlive(parent) ? children : [];
  } catch {
    return [];
  }
}
