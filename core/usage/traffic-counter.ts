import { randomUUID } from 'node:crypto';
import type { Clock } from '#base/clock-and-ids.ts';
import type { UsageAmounts, UsageReading, UsageRecords } from './usage-store.ts';

/** Milliseconds between two writes: what a killed process loses at most. */
const WRITES_MS = 30_000;

type Traffic = Pick<UsageAmounts, 'egressBytes' | 'previewBytes' | 'lookS'>;

interface Counter {
  readonly source: string;
  readonly startedAt: Date;
  readonly counted: { -readonly [Name in keyof Traffic]: number };
  isWritten: boolean;
}

export interface TrafficCounterDeps {
  readonly usage: Pick<UsageRecords, 'add'>;
  readonly clock: Clock;
  readonly failed: (error: unknown) => void;
}

/** Counts what passes through this process, by sandbox. A counter ends once it is not used. */
export class TrafficCounter {
  readonly #deps: TrafficCounterDeps;
  readonly #counters = new Map<string, Counter>();
  readonly #timer: NodeJS.Timeout;
  #writing: Promise<void> = Promise.resolve();

  constructor(deps: TrafficCounterDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => void this.write(), WRITES_MS).unref();
  }

  /** Neither waits nor throws. */
  add(sandboxId: string, more: Partial<Traffic>): void {
    const counter = this.#counters.get(sandboxId) ?? {
      source: `traffic:${randomUUID()}`,
      startedAt: this.#deps.clock.now(),
      counted: { egressBytes: 0, previewBytes: 0, lookS: 0 },
      isWritten: false,
    };
    for (const name of ['egressBytes', 'previewBytes', 'lookS'] as const)
      counter.counted[name] += more[name] ?? 0;
    counter.isWritten = false;
    this.#counters.set(sandboxId, counter);
  }

  /** Resolves once all so far is recorded, or cannot be: then the next write has it. */
  write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write(false));
    return this.#writing;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    await this.#write(true);
  }

  async #write(isEnd: boolean): Promise<void> {
    const { usage, clock, failed } = this.#deps;
    const entries = [...this.#counters];
    const at = clock.now();
    const readings = entries.map(
      ([sandboxId, { source, startedAt, counted, isWritten }]): UsageReading => ({
        sandboxId,
        source,
        startedAt,
        at,
        counted: { ...counted },
        isLast: isEnd || isWritten,
      }),
    );
    for (const [id, counter] of entries) {
      // Traffic during the write begins a new counter.
      if (counter.isWritten) this.#counters.delete(id);
      counter.isWritten = true;
    }
    try {
      for (let from = 0; from < readings.length; from += AT_ONCE)
        await usage.add(readings.slice(from, from + AT_ONCE));
    } catch (error) {
      for (const [id, counter] of entries) {
        counter.isWritten = false;
        if (!this.#counters.has(id)) this.#counters.set(id, counter);
      }
      failed(error);
    }
  }
}

/** Sandboxes of one transaction. */
const AT_ONCE = 500;
