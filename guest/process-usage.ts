/**
 * Resource usage of a process, read from /proc while it runs: Node has no wait4(2), and reaps its
 * children at once.
 */
import { readFileSync } from 'node:fs';

/** USER_HZ: the unit of times in /proc, 100 on all machines that Node supports. */
export const TICK_MS = 10;

/** In ms after the start: often at first, because most processes are short. */
const SAMPLES = [30, 100, 300, 1_000];
const EVERY = 2_000;

/** Undefined where it cannot be read. */
export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}

/**
 * Ticks of a process, and of the children it waited for. The name in field 2 may contain anything
 * within its parentheses.
 */
export function cpuTicksOf(pid: number | 'self'): { own: number; children: number } | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15).map(Number);
  return { own: user + system, children: childUser + childSystem };
}

/** The memory of a process that is not swapped out. */
export function residentBytes(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1];
  return Number(kibibytes ?? 0) * 1_024;
}

/**
 * The memory of a process without files. What forked processes share counts once; of a process that
 * this one may not read it counts for each.
 */
export function anonymousBytes(pid: number): number {
  const shared = readText(`/proc/${pid}/smaps_rollup`);
  const found =
    /^Pss_Anon:\s+(\d+) kB$/m.exec(shared ?? '') ??
    /^RssAnon:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/status`) ?? '');
  return found === null ? residentBytes(pid) : Number(found[1]) * 1_024;
}

/**
 * The memory of all processes in gVisor, without files; undefined in Linux, which alone has a line
 * for page tables. gVisor has numbers of the sandbox, and counts files of a tmpfs as anonymous.
 */
export function anonymousBytesInGvisor(): number | undefined {
  const info = readText('/proc/meminfo') ?? '';
  if (info.includes('PageTables:')) return undefined;
  const kibibytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(info)?.[1]);
  const own = kibibytes('AnonPages') - kibibytes('Shmem');
  return Number.isNaN(own) ? undefined : Math.max(0, own) * 1_024;
}

/** A process and its living descendants, at most a thousand. */
function treeOf(pid: number): number[] {
  const tree = [pid];
  for (let index = 0; index < tree.length && tree.length < 1_000; index += 1) {
    const children = readText(`/proc/${tree[index]}/task/${tree[index]}/children`) ?? '';
    tree.push(...children.split(' ').filter(Boolean).map(Number));
  }
  return tree;
}

/** OOM kills in the sandbox; in the machine if its cgroup is not visible. */
export function outOfMemoryKills(): number {
  const own = /^oom_kill (\d+)$/m.exec(readText('/sys/fs/cgroup/memory.events') ?? '')?.[1];
  return Number(own ?? /^oom_kill (\d+)$/m.exec(readText('/proc/vmstat') ?? '')?.[1] ?? 0);
}

/** The sandbox's memory limit in MiB; undefined if its cgroup has none or is not visible. */
export function memoryLimit(): number | undefined {
  const bytes = Number(readText('/sys/fs/cgroup/memory.max'));
  return Number.isNaN(bytes) ? undefined : bytes / 2 ** 20;
}

/**
 * Ticks of the guest's ended children. The kernel keeps one sum, so the ticks of one child are
 * known only if no other was reaped in the same turn.
 */
export class ChildTimes {
  #sum = cpuTicksOf('self')?.children ?? 0;
  #waiting: ((ticks: number | undefined) => void)[] = [];

  /** Call it in the turn of a child's exit. Undefined if several ended at once. */
  ended(): Promise<number | undefined> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(() => this.#settle());
    });
  }

  #settle(): void {
    const sum = cpuTicksOf('self')?.children ?? this.#sum;
    const used = this.#waiting.length === 1 ? sum - this.#sum : undefined;
    this.#sum = sum;
    for (const resolve of this.#waiting.splice(0)) resolve(used);
  }
}

/** Follows one process from its start to its exit. */
export class ProcessUsage {
  readonly #pid: number;
  #ticks = 0;
  #peak = 0;
  #kills = outOfMemoryKills();
  #timer: NodeJS.Timeout | undefined;
  #sample = 0;

  constructor(pid: number) {
    this.#pid = pid;
    this.#schedule();
  }

  /** Call it after the exit. @param exact its ticks, if they are known */
  finish(exact: number | undefined): {
    readonly cpuMs: number | null;
    readonly peakMemoryBytes: number | null;
    readonly ranOutOfMemory: boolean;
  } {
    clearTimeout(this.#timer);
    const ticks = Math.max(this.#ticks, exact ?? 0);
    return {
      cpuMs: exact === undefined && ticks === 0 ? null : ticks * TICK_MS,
      peakMemoryBytes: this.#peak === 0 ? null : this.#peak,
      ranOutOfMemory: outOfMemoryKills() > this.#kills,
    };
  }

  #schedule(): void {
    const delay = SAMPLES[this.#sample] ?? EVERY;
    this.#sample += 1;
    this.#timer = setTimeout(() => {
      this.#take();
      this.#schedule();
    }, delay);
    this.#timer.unref();
  }

  #take(): void {
    let ticks = 0;
    let memory = 0;
    for (const pid of treeOf(this.#pid)) {
      const used = cpuTicksOf(pid);
      if (used !== undefined) ticks += used.own + used.children;
      memory += residentBytes(pid);
    }
    this.#ticks = Math.max(this.#ticks, ticks);
    this.#peak = Math.max(this.#peak, memory);
    this.#kills = outOfMemoryKills();
  }
}
