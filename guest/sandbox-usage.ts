/** What the sandbox uses: of its cgroup where that is visible inside, else of its processes. */
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import type { UsageReport, UsageTotal } from '../protocol/guest/usage-protocol.ts';
import {
  anonymousBytes,
  anonymousBytesInGvisor,
  cpuTicksOf,
  memoryLimit,
  readText,
  TICK_MS,
} from './process-usage.ts';
import { type Handler, type Routes, sendJson } from './router.ts';

const CGROUP = '/sys/fs/cgroup';
const MIB = 2 ** 20;

/** CPU time since the start, and memory. */
interface Reading {
  readonly cpuMs: number;
  readonly memoryBytes: number;
  readonly cacheBytes: number | null;
}

/** A line `name number` of a file of the cgroup. */
function numberIn(file: string, name: string): number | undefined {
  const found = new RegExp(`^${name} (\\d+)$`, 'm').exec(readText(`${CGROUP}/${file}`) ?? '')?.[1];
  return found === undefined ? undefined : Number(found);
}

/** Undefined in the root cgroup, which has no `memory.current`, and in cgroup v1. */
function readCgroup(): Reading | undefined {
  const all = readText(`${CGROUP}/memory.current`);
  const cpuUs = numberIn('cpu.stat', 'usage_usec');
  const cacheBytes = numberIn('memory.stat', 'file');
  if (all === undefined || cpuUs === undefined || cacheBytes === undefined) return undefined;
  return { cpuMs: cpuUs / 1_000, memoryBytes: Math.max(0, Number(all) - cacheBytes), cacheBytes };
}

/** Of all processes in the PID namespace, with the CPU time of those that have ended. */
function readProcesses(): Reading {
  let ticks = 0;
  const inGvisor = anonymousBytesInGvisor();
  let memoryBytes = inGvisor ?? 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const used = cpuTicksOf(Number(name));
    ticks += used === undefined ? 0 : used.own + used.children;
    if (inGvisor === undefined) memoryBytes += anonymousBytes(Number(name));
  }
  return { cpuMs: ticks * TICK_MS, memoryBytes, cacheBytes: null };
}

const readNow = (): Reading => readCgroup() ?? readProcesses();

/** Shortest time that CPUs are measured over, in ms; the first answer waits for its own. */
const MIN_MS = 1_000;
const FIRST_MS = 200;

/** Milliseconds between two looks at the memory. */
const MEMORY_EVERY_MS = 5_000;
const GIB_MS = 2 ** 30 * 1_000;

/** What the sandbox has used since the guest's start. Before the first look, as at the first. */
class UsageCounter {
  readonly #id = randomUUID();
  #at = performance.now();
  #cpuMs = 0;
  #byteMs = 0;
  #memoryBytes = 0;
  readonly #previewBytes: (() => number) | undefined;

  constructor(previewBytes: (() => number) | undefined) {
    this.#previewBytes = previewBytes;
    const { cpuMs, memoryBytes } = readNow();
    this.#cpuMs = cpuMs;
    this.#memoryBytes = memoryBytes;
    this.#byteMs = memoryBytes * this.#at;
    setInterval(() => this.#read(), MEMORY_EVERY_MS).unref();
  }

  total(): UsageTotal {
    this.#read();
    return {
      id: this.#id,
      seconds: this.#at / 1_000,
      cpu_s: this.#cpuMs / 1_000,
      memory_gib_s: this.#byteMs / GIB_MS,
      preview_bytes: this.#previewBytes?.(),
    };
  }

  #read(): void {
    const { cpuMs, memoryBytes } = readNow();
    const at = performance.now();
    this.#byteMs += ((memoryBytes + this.#memoryBytes) / 2) * (at - this.#at);
    // A process that ends while /proc is read may be missed once.
    this.#cpuMs = Math.max(this.#cpuMs, cpuMs);
    [this.#at, this.#memoryBytes] = [at, memoryBytes];
  }
}

/**
 * `/v1/usage`.
 * @param memoryMb the limit, where the cgroup is not visible
 * @param previewBytes of all previews; undefined: the guest serves none
 */
export function usageRoutes(
  workspace: string,
  memoryMb: number | undefined,
  previewBytes: (() => number) | undefined,
): Routes<Handler> {
  const sample = () => ({ at: performance.now(), cpuMs: readNow().cpuMs });
  let recent: ReturnType<typeof sample> | undefined;
  let before: ReturnType<typeof sample> | undefined;
  const counter = new UsageCounter(previewBytes);
  return {
    'GET /v1/usage/total': (_request, response) => sendJson(response, 200, counter.total()),
    'GET /v1/usage': async (_request, response) => {
      if (before === undefined) {
        before = recent = sample();
        await setTimeout(FIRST_MS);
      }
      const { memoryBytes, cacheBytes, cpuMs } = readNow();
      const at = performance.now();
      if (recent === undefined || at - recent.at >= MIN_MS)
        [before, recent] = [recent ?? before, { at, cpuMs }];
      const limitMb = memoryLimit() ?? memoryMb;
      const disk = await statfs(workspace);
      sendJson(response, 200, {
        cpus: Math.max(0, (cpuMs - before.cpuMs) / (at - before.at)),
        memory_bytes: memoryBytes,
        cache_bytes: cacheBytes,
        memory_limit_bytes: limitMb === undefined ? null : Math.round(limitMb * MIB),
        disk_bytes: disk.blocks * disk.bsize,
        disk_used_bytes: (disk.blocks - disk.bfree) * disk.bsize,
      } satisfies UsageReport);
    },
  };
}
