import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** Time for which processes are stopped at most, in ms. */
export const FROZEN_MS = 1_000;
/** Time in which a process stops, in ms; one that waits for a disk takes longer. */
const STOPS_WITHIN_MS = 300;
/** Between two looks at whether processes have stopped, in ms. */
const LOOK_MS = 1;
/** Looks for processes that were started meanwhile. */
const MAX_ROUNDS = 10;

export interface Running {
  readonly pid: number;
  readonly parent: number;
  /** One letter, as in proc_pid_stat(5). */
  readonly state: string;
  /** Its debugger would report the signal. */
  readonly isTraced: boolean;
}

/**
 * Whether all processes that this one can stop end with it, so that none stays stopped. The kernel
 * ends them in a pid namespace with this process or its parent as pid 1; the runtime does in a pod,
 * where the pause process is pid 1, and the parent of this one is outside.
 */
export const canFreeze = (): boolean => process.ppid <= 1;

/**
 * What descends from pid 1 or this process, but themselves and its ancestors. Others were started
 * from outside: one of them may carry the very bytes that this process sends.
 */
export function otherProcesses(): Running[] {
  const found = new Map<number, Running>();
  for (const name of readdirSync('/proc')) {
    const running = /^\d+$/.test(name) ? runningOf(Number(name)) : undefined;
    if (running !== undefined) found.set(running.pid, running);
  }
  const lineOf = (pid: number): number[] => {
    const parent = found.get(pid)?.parent;
    return parent === undefined ? [] : [pid, ...lineOf(parent)];
  };
  const own = new Set([1, ...lineOf(process.pid)]);
  const isInside = (pid: number) => lineOf(pid).some((each) => each === 1 || each === process.pid);
  return [...found.values()].filter(({ pid }) => !own.has(pid) && isInside(pid));
}

/** Undefined if it has ended. */
function runningOf(pid: number): Running | undefined {
  let status: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, 'latin1');
  } catch {
    return undefined;
  }
  const [, state = 'Z'] = /^State:\s+(\S)/m.exec(status) ?? [];
  if (state === 'Z' || state === 'X') return undefined;
  const [parent, tracer] = ['PPid', 'TracerPid'].map((name) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0),
  );
  return { pid, parent: parent ?? 0, state, isTraced: tracer !== 0 };
}

const isStopped = ({ state }: Running): boolean => state === 'T';

/**
 * The processes of the sandbox, stopped for a moment. Parents stop before their children and go on
 * after them: so a shell never sees a stopped job, and no process group is an orphan with stopped
 * members, which would get SIGHUP. Processes that were stopped before stay so.
 */
export class Freeze {
  readonly #stopped = new Set<number>();
  readonly #timer = setTimeout(() => this.end(), FROZEN_MS);
  #isOver = false;

  private constructor() {}

  /**
   * Resolves once they are stopped; at once, with all of them running, where one does not stop or
   * belongs to another user or a debugger.
   */
  static async begin(list: () => readonly Running[] = otherProcesses): Promise<Freeze> {
    const freeze = new Freeze();
    try {
      if (!(await freeze.#stopAll(list))) freeze.end();
    } catch {
      freeze.end();
    }
    return freeze;
  }

  /** Lets them go on. */
  end(): void {
    clearTimeout(this.#timer);
    this.#isOver = true;
    for (const pid of [...this.#stopped].toReversed()) {
      try {
        process.kill(pid, 'SIGCONT');
      } catch {
        // It was killed meanwhile.
      }
    }
    this.#stopped.clear();
  }

  async #stopAll(list: () => readonly Running[]): Promise<boolean> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const left = list().filter((one) => !isStopped(one));
      if (left.length === 0) return true;
      if (left.some(({ isTraced }) => isTraced)) return false;
      for (const level of levelsOf(left)) if (!(await this.#stop(level))) return false;
    }
    return false;
  }

  async #stop(pids: readonly number[]): Promise<boolean> {
    const until = performance.now() + STOPS_WITHIN_MS;
    if (this.#isOver) return false;
    for (const pid of pids) {
      try {
        this.#stopped.add(pid);
        process.kill(pid, 'SIGSTOP');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
    const isMoving = (pid: number): boolean => {
      const running = runningOf(pid);
      return running !== undefined && !isStopped(running);
    };
    for (let moving = pids.filter(isMoving); moving.length > 0; moving = moving.filter(isMoving)) {
      if (performance.now() > until || this.#isOver) return false;
      await pause(LOOK_MS);
    }
    return !this.#isOver;
  }
}

/** Parents before their children. */
function levelsOf(processes: readonly Running[]): number[][] {
  const parents = new Map(processes.map(({ pid, parent }) => [pid, parent]));
  const levels: number[][] = [];
  for (const { pid } of processes) {
    let depth = 0;
    for (let above = parents.get(pid); above !== undefined && parents.has(above); depth += 1) {
      above = parents.get(above);
    }
    (levels[depth] ??= []).push(pid);
  }
  return levels;
}
