import { existsSync, readFileSync } from 'node:fs';

const PRLIMIT = '/usr/bin/prlimit';

/**
 * Processes and threads of a sandbox: some 350 Node programs at a time, and an eighth of the pids
 * that a kernel has by default.
 */
export const MOST = 4096;

/**
 * The limit that this process has itself and cannot raise; `limits` is the text of
 * /proc/self/limits.
 */
export function processLimit(limits: string): number {
  const own = /^Max processes +\S+ +(\d+)/m.exec(limits)?.[1];
  return own === undefined ? MOST : Math.min(MOST, Number(own));
}

/** Whether util-linux is installed, which sets the limit. */
export function limitsProcesses(): boolean {
  return existsSync(PRLIMIT);
}

/**
 * Bounds how many processes and threads come of a command, as a fork bomb would take the machine's.
 * To be run inside the sandbox: the kernel counts in the user namespace where the limit is set, so
 * that no sandbox uses up another's or the host's. The command as it is where util-linux is not
 * installed.
 */
export function limitProcesses(command: readonly string[]): string[] {
  if (!limitsProcesses()) return [...command];
  const most = processLimit(readFileSync('/proc/self/limits', 'utf8'));
  return [PRLIMIT, `--nproc=${most}`, '--', ...command];
}
