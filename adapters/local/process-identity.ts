import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * A process for certain: a pid alone may belong to somebody else by now, and after a reboot so may
 * pid and start time.
 */
export interface ProcessIdentity {
  readonly pid: number;
  /**
   * Clock ticks since boot and the boot's id; elsewhere than on Linux the start time as `ps` prints
   * it.
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

function startOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return startByPs(pid);
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field is the program's name in brackets and may hold anything; what counts comes
    // behind the last bracket.
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

/** Undefined when there is no such process, or nothing of it but a zombie. */
export function identify(pid: number): ProcessIdentity | undefined {
  const start = startOf(pid);
  return start === undefined ? undefined : { pid, start };
}

export function isAlive(process: ProcessIdentity): boolean {
  return startOf(process.pid) === process.start;
}

/** The children of a process, oldest first; none where the kernel does not tell. */
export function childrenOf(parent: ProcessIdentity): ProcessIdentity[] {
  try {
    const listed = readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, 'utf8');
    const children = listed.split(' ').flatMap((pid) => (pid === '' ? [] : (identify(Number(pid)) ?? [])));
    return isAlive(parent) ? children : [];
  } catch {
    return [];
  }
}
