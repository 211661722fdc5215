import { existsSync, readFileSync } from 'node:fs';

/** What the kernel allows all sandboxes of a machine together. Infinity: it has no such limit. */
export interface MachineLimits {
  /** Processes and threads. */
  readonly processes: number;
  readonly openFiles: number;
}

/** Sandboxes that one person may have at a time, unless the configuration says otherwise. */
export const USUAL_SANDBOXES = 10;

/** Of a sandbox that can run a package manager, a dev server and its workers. */
const LEAST: MachineLimits = { processes: 512, openFiles: 16_384 };

const PROCESS_FILES = ['/proc/sys/kernel/pid_max', '/proc/sys/kernel/threads-max'];
const OPEN_FILES_FILE = '/proc/sys/fs/file-max';

export function readMachineLimits(): MachineLimits {
  const read = (file: string): number => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : Infinity);
  return { processes: Math.min(...PROCESS_FILES.map(read)), openFiles: read(OPEN_FILES_FILE) };
}

/** The share of one sandbox: all of them leave a quarter to the host and the machine. */
export function shareOf(limits: MachineLimits, sandboxes: number): MachineLimits {
  const share = (total: number): number => Math.floor((total * 3) / 4 / sandboxes);
  return {
    processes: Math.max(LEAST.processes, share(limits.processes)),
    openFiles: Math.max(LEAST.openFiles, share(limits.openFiles)),
  };
}

/** Which limits of the kernel are too small for that many sandboxes, and what to do. */
export function machineWarnings(limits: MachineLimits, sandboxes: number): string[] {
  const needed = (least: number): number => Math.ceil((least * sandboxes * 4) / 3);
  const warn = (what: string, has: number, least: number, remedy: (value: number) => string): string[] =>
    has >= needed(least)
      ? []
      : [
          `The kernel allows ${has} ${what} in all, and ${sandboxes} sandboxes need ${needed(least)}: one of them can keep ` +
            `the others from working. ${remedy(needed(least))}, or allow fewer sandboxes (PORTHOLE_QUOTAS, WARM_POOL_MAX_INSTANCES).`,
        ];
  return [
    ...warn(
      'processes and threads',
      limits.processes,
      LEAST.processes,
      (value) => `Run sysctl -w kernel.pid_max=${value} kernel.threads-max=${value}`,
    ),
    ...warn('open files', limits.openFiles, LEAST.openFiles, (value) => `Run sysctl -w fs.file-max=${value}`),
  ];
}
