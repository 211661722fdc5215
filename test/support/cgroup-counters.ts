import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCpuTime } from '#adapters/local/sandbox-cgroup.ts';

const GIB_MS = 2 ** 30 * 1_000;

/** What the cgroups of a sandbox count, one after the other, read outside of it. */
export class CgroupCounters {
  readonly #find: () => readonly string[];
  readonly #memory: typeof readMemory;
  #folders: readonly string[] = [];
  /** CPU seconds of each cgroup. */
  readonly #seconds = new Map<string, number>();
  #byteMs = 0;
  #last: { readonly counter: string; readonly at: number; readonly bytes: number } | undefined;

  /**
   * @param find the folders of the present cgroup; it is asked again once they are gone
   * @param memory `readSharedMemory` of a sandbox in gVisor
   */
  constructor(find: () => readonly string[], memory = readMemory) {
    this.#find = find;
    this.#memory = memory;
  }

  /** The memory is that of the readings: read often. */
  get counted(): { readonly vcpu_s: number; readonly memory_gib_s: number } {
    const seconds = [...this.#seconds.values()].reduce((sum, each) => sum + each, 0);
    return { vcpu_s: seconds, memory_gib_s: this.#byteMs / GIB_MS };
  }

  /** Returns false if there is no cgroup at present. */
  read(): boolean {
    let cpu = readCpuTime(this.#folders);
    if (cpu === undefined) {
      this.#folders = this.#find();
      cpu = readCpuTime(this.#folders);
    }
    if (cpu === undefined) return false;
    const { counter, seconds } = cpu;
    this.#seconds.set(counter, seconds);
    const [at, bytes] = [performance.now(), this.#memory(this.#folders) ?? 0];
    if (this.#last?.counter === counter)
      this.#byteMs += ((bytes + this.#last.bytes) / 2) * (at - this.#last.at);
    this.#last = { counter, at, bytes };
    return true;
  }
}

/** The bytes of the processes, without the cache of files. */
export const readMemory = (folders: readonly string[]): number | undefined =>
  readStat(folders, (number, folder) => {
    const ofV1 = number('total_rss');
    if (!Number.isNaN(ofV1)) return ofV1;
    return Number(readFileSync(join(folder, 'memory.current'), 'utf8')) - number('file');
  });

/** gVisor has the memory of all processes in one shared file; the rest is its own. */
export const readSharedMemory = (folders: readonly string[]): number | undefined =>
  readStat(folders, (number) => {
    const ofV1 = number('total_shmem');
    return Number.isNaN(ofV1) ? number('shmem') : ofV1;
  });

function readStat(
  folders: readonly string[],
  read: (number: (name: string) => number, folder: string) => number,
): number | undefined {
  for (const folder of folders) {
    try {
      const stat = readFileSync(join(folder, 'memory.stat'), 'utf8');
      return read((name) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(stat)?.[1]), folder);
    } catch {
      // Not in this hierarchy, or the sandbox has just ended.
    }
  }
  return undefined;
}
