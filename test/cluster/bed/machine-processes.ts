import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** A name that no later process has: the id, and the clock ticks from the boot to its start. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
}

/** A process that carries a bed's machine: `unshare`, which made its namespaces, and the first two in them. */
export interface MachineProcess extends ProcessIdentity {
  readonly runFolder: string;
  readonly number: number;
}

export function planFile(runFolder: string): string {
  return join(runFolder, 'machine.json');
}

/** The end of the command line of every process that carries a machine. */
export function machineArguments(number: number, runFolder: string): string[] {
  return [join(import.meta.dirname, 'machine.ts'), String(number), planFile(runFolder)];
}

/**
 * The processes of all beds of this user that are up. They are known by their own command lines, so there is no record
 * that could be lost, or that could name a process which has since become another.
 */
export function machineProcesses(): MachineProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && owner(name) === process.geteuid?.())
    .flatMap((name) => {
      const [program = '', number = '', plan = ''] = commandLine(name).slice(-3);
      if (basename(program) !== 'machine.ts' || basename(plan) !== basename(planFile(''))) return [];
      return [{ ...identity(Number(name)), runFolder: dirname(plan), number: Number(number) }];
    });
}

/** Whether the bed of a run folder is up, or coming up. */
export function isCarried(runFolder: string): boolean {
  return machineProcesses().some((process) => process.runFolder === runFolder);
}

export function identity(pid: number): ProcessIdentity {
  return { pid, startTime: processState(pid).startTime };
}

/** Whether a process has not ended yet. One that its parent has yet to collect has. */
export function isAlive({ pid, startTime }: ProcessIdentity): boolean {
  const now = processState(pid);
  return now.startTime === startTime && now.state !== 'Z';
}

function owner(pid: string): number | undefined {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid;
}

function commandLine(pid: string): string[] {
  return read(`/proc/${pid}/cmdline`).split('\0').slice(0, -1);
}

function processState(pid: number): { state: string; startTime: string } {
  // The second field, the program's name in brackets, may hold spaces and brackets itself.
  const [state = '', ...rest] = read(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? [];
  return { state, startTime: rest[18] ?? '' };
}

/** The empty text for a process that has ended since it was listed. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
