import { existsSync, readFileSync } from 'node:fs';

const PRLIMIT = '/usr/bin/prlimit';

/**
 * Processes and threads of a sandbox: about 350 Node programs at a time, and an eighth of a
 * kernel's default.
 */
export const MOST = 4096;

/** The hard limit of this process; `limits` is the text of /proc/self/limits. */
export function processLimit(limits: string): number {
  const own = /^Max processes +\S+ +(\d+)/m.exec(limits)?.[1];
  return own === undefined ? MOST : Math.min(MOST, Number(own));
}

/** Whether util-linux, which sets the limit, is installed. */
export function limitsProcesses(): boolean {
  return existsSync(PRLIMIT);
}

/**
 * Limits the processes and threads of a command: a fork bomb would take the machine's. Run it
 * inside the sandbox: the kernel counts per user namespace, so that no sandbox uses up another's
 * share or the host's. Returns the command unchanged if util-linux is not installed.
 */
export function limitProcesses(command: readonly string[]): string[] {
  if (!limitsProcesses()) return [...command];
  const most = processLimit(readFileSync('/proc/self/limits', 'utf8'));
  return [PRLIMIT, `--nproc=${most}`, '--', ...command];
}
