import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCpuTime } from '#adapters/local/sandbox-cgroup.ts';

const GIB_MS = 2 ** 30 * 1_000;

/** What the cgroups of a sandbox count, one after the other, read outside of it. */
export class CgroupCounters {
  readonly #find: () => readonly string[];
  #folders: readonly string[] = [];
  /** CPU seconds of each cgroup. */
  readonly #seconds = new Map<string, number>();
  #byteMs = 0;
  #last: { readonly counter: string; readonly at: number; readonly bytes: number } | undefined;

  /** @param find the folders of the present cgroup; it is asked again once they are gone */
  constructor(find: () => readonly string[]) {
    this.#find = find;
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
    const [at, bytes] = [performance.now(), readMemory(this.#folders) ?? 0];
    if (this.#last?.counter === counter)
      this.#byteMs += ((bytes + this.#last.bytes) / 2) * (at - this.#last.at);
    this.#last = { counter, at, bytes };
    return true;
  }
}

/** The bytes of the processes, without the cache of files. */
export function readMemory(folders: readonly string[]): number | undefined {
  for (const folder of folders) {
    try {
      const stat = readFileSync(join(folder, 'memory.stat'), 'utf8');
      const number = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(stat)?.[1]);
      const ofV1 = number('total_rss');
      if (!Number.isNaN(ofV1)) return ofV1;
      return Number(readFileSync(join(folder, 'memory.current'), 'utf8')) - number('file');
    } catch {
      // Not in this hierarchy, or the sandbox has just ended.
    }
  }
  return undefined;
}
