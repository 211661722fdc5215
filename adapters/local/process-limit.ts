import { existsSync, readFileSync } from 'node:fs';
import { type MachineLimits, readMachineLimits, shareOf } from './machine-limits.ts';

const PRLIMIT = '/usr/bin/prlimit';

/**
 * Processes and threads of a sandbox where the machine has enough: about 350 Node programs at a
 * time.
 */
const MAX_PROCESSES = 4096;

/** A process may take this fraction of its sandbox's open files. */
const FILES_DIVISOR = 4;

/** What a sandbox may use; undefined: the host's own limit. */
export interface SandboxCaps {
  readonly processes: number;
  /** Of each process. */
  readonly openFiles: number | undefined;
}

/**
 * The caps of a sandbox: its share of the machine, and no more than this process may use. `own` is
 * the text of /proc/self/limits.
 */
export function sandboxCaps(own: string, share: MachineLimits): SandboxCaps {
  const hard = (name: string): number =>
    Number(new RegExp(`^${name} +\\S+ +(\\d+)`, 'm').exec(own)?.[1] ?? Infinity);
  const openFiles = Math.floor(share.openFiles / FILES_DIVISOR);
  return {
    processes: Math.min(MAX_PROCESSES, share.processes, hard('Max processes')),
    openFiles: openFiles < hard('Max open files') ? openFiles : undefined,
  };
}

/** The caps of one sandbox if this machine runs that many. */
export function readSandboxCaps(sandboxes: number): SandboxCaps {
  return sandboxCaps(readFileSync('/proc/self/limits', 'utf8'), shareOf(readMachineLimits(), sandboxes));
}

/** Whether util-linux, which sets the limit, is installed. */
export function limitsProcesses(): boolean {
  return existsSync(PRLIMIT);
}

/**
 * Limits the processes, threads and open files of a command: a fork bomb would take the machine's.
 * Run it inside the sandbox: the kernel counts processes per user namespace, so that no sandbox
 * uses up another's share or the host's. Returns the command unchanged if util-linux is not
 * installed.
 */
export function limitProcesses(command: readonly string[], { processes, openFiles }: SandboxCaps): string[] {
  if (!limitsProcesses()) return [...command];
  const files = openFiles === undefined ? [] : [`--nofile=${openFiles}`];
  return [PRLIMIT, `--nproc=${processes}`, ...files, '--', ...command];
}
