import { freeBytes } from '#adapters/system/disk-reserve.ts';
import { fillsDisk, type Growth, isDue, type Measured, whyOverLimit } from './disk-limit.ts';
import { diskUsage } from './disk-usage.ts';

/** A running sandbox. Sizes in bytes. */
export interface WatchedSandbox {
  readonly id: string;
  readonly folder: string;
  readonly limit: number;
  /** Bytes that it may take although they exceed the limit. */
  readonly allowed: number;
}

export interface DiskWatchOptions {
  /** On the disk of the sandboxes. */
  readonly root: string;
  readonly running: () => Iterable<WatchedSandbox>;
  /** Stops the sandbox. `bytes` is the size of its files. */
  readonly stop: (id: string, why: string, bytes: number) => Promise<void>;
  /** Called for a sandbox that was allowed more than its limit, and needs it no longer. */
  readonly fits: (id: string) => void;
  /** Called with each failure. */
  readonly failed: (error: unknown) => void;
  /** Milliseconds between two passes. @default 2 seconds */
  readonly everyMs?: number | undefined;
}

/** Below this, the disk of the machine counts as full: passes then measure every sandbox. */
const LOW = 64 * 2 ** 20;

/**
 * Stops a sandbox with more files than its disk has, and the one that fills the machine's disk. A
 * pass costs one statfs(2) until the disk has lost so much space that a sandbox may be the cause.
 */
export class DiskWatch {
  readonly #options: DiskWatchOptions;
  readonly #measured = new Map<string, Measured>();
  /** Bytes of each sandbox before the disk became full: its growth counts from here. */
  readonly #base = new Map<string, number>();
  /** Stops that have begun: one that fails is tried again in the next pass. */
  readonly #stops = new Map<string, { readonly why: string; readonly bytes: number }>();
  readonly #timer: NodeJS.Timeout;
  #passing: Promise<void> | undefined;

  constructor(options: DiskWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.pass(), options.everyMs ?? 2_000).unref();
  }

  /** Registers a new sandbox, which has no files: its first measurement is all growth. */
  begin(id: string): void {
    this.#base.set(id, 0);
  }

  forget(id: string): void {
    this.#measured.delete(id);
    this.#base.delete(id);
    this.#stops.delete(id);
  }

  /** Measures and stops what is due. One pass at a time; never rejects. */
  pass(): Promise<void> {
    this.#passing ??= this.#pass()
      .catch(this.#options.failed)
      .finally(() => (this.#passing = undefined));
    return this.#passing;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#passing;
  }

  async #pass(): Promise<void> {
    const { root, running, fits } = this.#options;
    for (const [id, { why, bytes }] of this.#stops) await this.#stop(id, why, bytes);
    const free = freeBytes(root);
    const now = { free, at: performance.now(), isLow: free < LOW };
    const growths: Growth[] = [];
    for (const { id, folder, limit, allowed } of running()) {
      const last = this.#measured.get(id);
      if (!isDue(last, limit, now)) continue;
      const bytes = await diskUsage(folder);
      if (bytes === undefined) continue;
      this.#measured.set(id, { bytes, free, at: now.at });
      const why = whyOverLimit(bytes, limit, allowed);
      if (why !== undefined) await this.#stop(id, why, bytes);
      else {
        if (!now.isLow || !this.#base.has(id)) this.#base.set(id, bytes);
        growths.push({ id, bytes, grown: bytes - (this.#base.get(id) ?? bytes) });
        if (allowed > limit && bytes <= limit) fits(id);
      }
    }
    // A sandbox that was just stopped may have freed the disk.
    const filler = now.isLow && freeBytes(root) < LOW ? fillsDisk(growths) : undefined;
    if (filler === undefined) return;
    const bytes = this.#measured.get(filler.id)?.bytes ?? 0;
    await this.#stop(filler.id, filler.why, bytes);
    // It may start again to delete files.
    this.#base.set(filler.id, bytes);
  }

  async #stop(id: string, why: string, bytes: number): Promise<void> {
    this.#stops.set(id, { why, bytes });
    try {
      await this.#options.stop(id, why, bytes);
      this.#stops.delete(id);
    } catch (error) {
      this.#options.failed(error);
    }
  }
}
