import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { promisify } from 'node:util';
import { execFile } from 'node:child_process';
import type { CpuTime } from '#core/sandboxes/sandbox-provider.ts';
import { bootId } from './process-identity.ts';
import { SYSTEM_PATH } from './spawn-sandbox.ts';

const CONTROLLERS = ['cpu', 'memory', 'pids'] as const;
export type Controller = (typeof CONTROLLERS)[number];

interface CgroupLimits {
  /** CPUs; may be fractional. */
  readonly cpu: number;
  readonly memoryMb: number;
  readonly pids: number;
}

export interface SandboxCgroup {
  /** Its folders, one per hierarchy. Put the first process into each before it forks. */
  readonly folders: readonly string[];
  /** Precedes the command line; systemd then creates the cgroup. */
  readonly prefix: readonly string[];
}

/** The limits that this machine supports. */
export interface Cgroups {
  readonly controllers: ReadonlySet<Controller>;
  /** Creates the cgroup of a sandbox, or sets the limits of an existing one. */
  make(name: string, limits: CgroupLimits): SandboxCgroup;
}

/** One hierarchy, with the parent folder of the sandboxes' cgroups. */
interface Hierarchy {
  readonly version: 1 | 2;
  readonly folder: string;
  readonly controllers: readonly Controller[];
  /** Whether it counts CPU time. */
  readonly counts: boolean;
}

/**
 * The cgroup v2 that this process moves to: only leaves may hold processes while controllers are on
 * (the "no internal processes" rule).
 */
const HOST_LEAF = 'porthole-host';

const PERIOD = 100_000;

/** Control files and their values, by version and controller. */
const FILES: Readonly<
  Record<1 | 2, Readonly<Record<Controller, (limits: CgroupLimits) => readonly [string, string][]>>>
> = {
  1: {
    cpu: ({ cpu }) => [
      ['cpu.cfs_period_us', `${PERIOD}`],
      ['cpu.cfs_quota_us', `${Math.round(cpu * PERIOD)}`],
    ],
    memory: ({ memoryMb }) => [['memory.limit_in_bytes', `${memoryMb * 2 ** 20}`]],
    pids: ({ pids }) => [['pids.max', `${pids}`]],
  },
  2: {
    cpu: ({ cpu }) => [['cpu.max', `${Math.round(cpu * PERIOD)} ${PERIOD}`]],
    memory: ({ memoryMb }) => [['memory.max', `${memoryMb * 2 ** 20}`]],
    pids: ({ pids }) => [['pids.max', `${pids}`]],
  },
};

/**
 * Swap would be memory beyond the limit. These files exist only if the kernel accounts for swap.
 */
const NO_SWAP = {
  1: ({ memoryMb }: CgroupLimits) => ['memory.memsw.limit_in_bytes', `${memoryMb * 2 ** 20}`],
  2: () => ['memory.swap.max', '0'],
} as const;

/** Files with the CPU time, and what its number is in nanoseconds. */
const CPU_TIME = [
  { file: 'cpu.stat', number: /^usage_usec (\d+)$/m, unit: 1_000 },
  { file: 'cpuacct.usage', number: /^(\d+)$/m, unit: 1 },
] as const;

/**
 * What the first of the folders that counts CPU time says. A folder that is made again has another
 * inode, so its counter has another name.
 */
export function readCpuTime(folders: readonly string[]): CpuTime | undefined {
  for (const folder of folders) {
    for (const { file, number, unit } of CPU_TIME) {
      try {
        const found = number.exec(readFileSync(join(folder, file), 'utf8'))?.[1];
        if (found === undefined) continue;
        return { counter: `${bootId()}:${statSync(folder).ino}`, seconds: (Number(found) * unit) / 1e9 };
      } catch {
        // Not in this hierarchy, or the sandbox has just ended.
      }
    }
  }
  return undefined;
}

/** The cgroup of the scope that systemd has made for a process. */
export function scopeFolders(pid: number): readonly string[] {
  try {
    const path = /^0::(.*\/run-[^/]+\.scope)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1];
    return path === undefined ? [] : [join('/sys/fs/cgroup', path)];
  } catch {
    return [];
  }
}

/** The cgroup of a sandbox, including its folder: two installations may use the same id. */
export function cgroupName(id: string, folder: string): string {
  return `porthole-${id.slice(0, 40)}-${createHash('sha256').update(folder).digest('hex').slice(0, 8)}`;
}

export function joinCgroup({ folders }: SandboxCgroup, pid: number): void {
  for (const folder of folders) writeFileSync(join(folder, 'cgroup.procs'), `${pid}`);
}

/**
 * Removes cgroups without processes. The kernel may need a moment; the next start reuses one that
 * stays.
 */
export async function removeCgroup(folders: readonly string[]): Promise<void> {
  const until = performance.now() + 1_000;
  for (const folder of folders) {
    while (existsSync(folder) && performance.now() < until) {
      try {
        rmdirSync(folder);
      } catch {
        await after(5);
      }
    }
  }
}

/**
 * The hierarchies in which this process has a folder. The texts are /proc/self/mountinfo and
 * /proc/self/cgroup.
 */
export function readHierarchies(mountinfo: string, cgroup: string): Hierarchy[] {
  const mine = cgroup
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [, names, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
      return names === undefined || path === undefined ? [] : [{ names: names.split(','), path }];
    });
  return mountinfo.split('\n').flatMap((line): Hierarchy[] => {
    const [left = '', right = ''] = line.split(' - ');
    const [, , , root = '', at = ''] = left.split(' ');
    const [type, , options = ''] = right.split(' ');
    if (type !== 'cgroup' && type !== 'cgroup2') return [];
    const version = type === 'cgroup' ? 1 : 2;
    const holds = options.split(',');
    const own = mine.find(({ names }) =>
      version === 2 ? names[0] === '' : names.every((name) => holds.includes(name)),
    );
    if (own === undefined) return [];
    const within = root === '/' ? own.path : own.path.startsWith(root) ? own.path.slice(root.length) : '';
    const controllers = CONTROLLERS.filter((name) => version === 2 || holds.includes(name));
    const counts = version === 2 || holds.includes('cpuacct');
    return [{ version, folder: join(at, within), controllers, counts }];
  });
}

function mayWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    accessSync(join(folder, 'cgroup.procs'), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function words(file: string): string[] {
  return readFileSync(file, 'utf8').split(/\s+/).filter(Boolean);
}

/**
 * Enables the controllers of a cgroup v2 for its children, after moving all its processes to a
 * leaf. The root cgroup keeps its processes.
 */
function open({ folder: own }: Hierarchy): Hierarchy {
  const folder = basename(own) === HOST_LEAF ? dirname(own) : own;
  const wanted = CONTROLLERS.filter((name) => words(join(folder, 'cgroup.controllers')).includes(name));
  const control = join(folder, 'cgroup.subtree_control');
  if (wanted.some((name) => !words(control).includes(name))) {
    if (existsSync(join(folder, 'cgroup.type'))) {
      const leaf = join(folder, HOST_LEAF);
      mkdirSync(leaf, { recursive: true });
      for (const pid of words(join(folder, 'cgroup.procs'))) writeFileSync(join(leaf, 'cgroup.procs'), pid);
    }
    writeFileSync(control, wanted.map((name) => `+${name}`).join(' '));
  }
  return { version: 2, folder, controllers: wanted, counts: true };
}

/** In the cgroups of this process itself: delegated to its user, or root's. */
function ownCgroups(): Cgroups | undefined {
  const read = (name: string): string => readFileSync(`/proc/self/${name}`, 'utf8');
  const hierarchies = readHierarchies(read('mountinfo'), read('cgroup')).flatMap((one): Hierarchy[] => {
    try {
      const isUseful = ({ version, controllers, counts }: Hierarchy) =>
        controllers.length > 0 || (version === 1 && counts);
      if (!isUseful(one) || !mayWrite(one.folder)) return [];
      const usable = one.version === 1 ? one : open(one);
      return isUseful(usable) ? [usable] : [];
    } catch {
      // Not ours to divide: it holds a process that cannot be moved, or a manager forbids it.
      return [];
    }
  });
  if (hierarchies.length === 0) return undefined;
  return {
    controllers: new Set(hierarchies.flatMap(({ controllers }) => controllers)),
    make(name, limits) {
      const folders = hierarchies.map(({ version, folder, controllers }) => {
        const path = join(folder, name);
        mkdirSync(path, { recursive: true });
        for (const controller of controllers) {
          for (const [file, value] of FILES[version][controller](limits))
            writeFileSync(join(path, file), value);
        }
        const [file, value] = NO_SWAP[version](limits) as [string, string];
        if (existsSync(join(path, file))) writeFileSync(join(path, file), value);
        return path;
      });
      return { folders, prefix: [] };
    },
  };
}

/** A systemd scope for each sandbox: the system's if the host is root, else its user's. */
async function systemdCgroups(): Promise<Cgroups | undefined> {
  const runtime = process.env['XDG_RUNTIME_DIR'] ?? `/run/user/${process.getuid?.()}`;
  const manager = process.getuid?.() === 0 ? '--system' : '--user';
  const make = ({ cpu, memoryMb, pids }: CgroupLimits): string[] => {
    // Delegated scopes survive the OOM kill of one process.
    const properties = ['Delegate=yes', `CPUQuota=${Math.round(cpu * 100)}%`, `TasksMax=${pids}`];
    properties.push(`MemoryMax=${memoryMb}M`, 'MemorySwapMax=0');
    const run = ['env', `XDG_RUNTIME_DIR=${runtime}`, 'systemd-run', manager];
    run.push('--scope', '--quiet', '--collect', ...properties.flatMap((property) => ['-p', property]));
    // Nothing of the host's environment is passed on.
    return [...run, '--', 'env', '-i', `PATH=${SYSTEM_PATH.PATH}`];
  };
  const [program = '', ...args] = make({ cpu: 1, memoryMb: 64, pids: 64 });
  const show = 'cat "/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)/cgroup.controllers"';
  try {
    const { stdout } = await promisify(execFile)(program, [...args, 'sh', '-c', show], {
      env: SYSTEM_PATH,
      timeout: 10_000,
    });
    const controllers = CONTROLLERS.filter((name) => stdout.split(/\s+/).includes(name));
    if (controllers.length === 0) return undefined;
    return {
      controllers: new Set(controllers),
      make: (_name, limits) => ({ folders: [], prefix: make(limits) }),
    };
  } catch {
    return undefined;
  }
}

async function works(cgroups: Cgroups | undefined): Promise<boolean> {
  try {
    const trial = cgroups?.make(`porthole-trial-${process.pid}`, { cpu: 1, memoryMb: 64, pids: 64 });
    await removeCgroup(trial?.folders ?? []);
    return trial !== undefined;
  } catch {
    return false;
  }
}

async function find(): Promise<Cgroups | undefined> {
  if (process.platform !== 'linux') return undefined;
  const systemd = existsSync('/run/systemd/system');
  const root = process.getuid?.() === 0;
  if (systemd && root) {
    const scopes = await systemdCgroups();
    if (scopes !== undefined) return scopes;
  }
  const own = ownCgroups();
  if (await works(own)) return own;
  return systemd && !root ? systemdCgroups() : undefined;
}

let found: Promise<Cgroups | undefined> | undefined;

/**
 * How sandboxes get one cgroup each; undefined if they cannot. Found once. Root asks systemd if it
 * runs, because it owns the tree. Otherwise the own cgroup is divided if it is writable (a service
 * with `Delegate=yes`, a container with a writable tree), else the user's systemd is asked.
 */
export function findCgroups(): Promise<Cgroups | undefined> {
  found ??= find();
  return found;
}
