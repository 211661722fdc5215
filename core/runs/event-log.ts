import type { WakingClock } from '../shared/clock-and-ids.ts';
import { createWakeSignal } from '../shared/wake-signal.ts';

/** Remembers the last so many bytes of a stream, and no more. */
export class ReplayRing {
  readonly #capacity: number;
  /** Made with the first byte: most are never written to. */
  #bytes: Buffer | undefined;
  /** Where the next byte goes. */
  #at = 0;
  #length = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  push(chunk: Uint8Array): void {
    this.#bytes ??= Buffer.allocUnsafe(this.#capacity);
    const last = chunk.subarray(Math.max(0, chunk.length - this.#capacity));
    const untilEnd = Math.min(last.length, this.#capacity - this.#at);
    this.#bytes.set(last.subarray(0, untilEnd), this.#at);
    this.#bytes.set(last.subarray(untilEnd), 0);
    this.#at = (this.#at + last.length) % this.#capacity;
    this.#length = Math.min(this.#capacity, this.#length + last.length);
  }

  /** A copy, oldest byte first; later pushes do not change it. */
  contents(): Buffer {
    if (this.#bytes === undefined) return Buffer.alloc(0);
    if (this.#length < this.#capacity) return Buffer.from(this.#bytes.subarray(0, this.#length));
    return Buffer.concat([this.#bytes.subarray(this.#at), this.#bytes.subarray(0, this.#at)]);
  }
}

/** A list of events that grows: a run's timeline, or what happens in a sandbox. */
interface EventLog<Event extends { readonly seq: number }> {
  read(
    id: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<{ readonly events: readonly Event[]; readonly more: boolean }>;
  watch(id: string, wake: () => void): () => void;
}

export interface EventStreamOptions {
  /** Whose story it is. */
  readonly id: string;
  /** The number of the last event that is known; 0: none. */
  readonly after: number;
  /** Milliseconds of silence after which it is said that there is nothing new. */
  readonly quietMs: number;
  /** When it ends, however much there may be to come. */
  readonly until: Date;
  /** It ends once any of these is aborted. */
  readonly signals: readonly (AbortSignal | undefined)[];
}

/** Events read with one look. */
const PAGE = 100;

/**
 * The events after a known one, each once and in its order, and then every new one as it comes.
 * `undefined` stands for a while in which there was none. Also what no wake told of is seen by
 * then.
 */
export async function* streamEvents<Event extends { readonly seq: number }>(
  log: EventLog<Event>,
  clock: WakingClock,
  { id, after, quietMs, until, signals }: EventStreamOptions,
): AsyncGenerator<Event | undefined, void> {
  const wakeSignal = createWakeSignal(clock, signals);
  // Before the first look: what is appended after it rings.
  const unwatch = log.watch(id, wakeSignal.notify);
  const isOver = () => signals.some((signal) => signal?.aborted) || clock.now() >= until;
  let last = after;
  let quietAt = later(clock, quietMs);
  try {
    while (!isOver()) {
      const { events, more } = await log.read(id, { after: last, limit: PAGE });
      for (const event of events) {
        yield event;
        last = event.seq;
      }
      if (events.length > 0) quietAt = later(clock, quietMs);
      if (more) continue;
      if (clock.now() >= quietAt) {
        yield undefined;
        quietAt = later(clock, quietMs);
      }
      await wakeSignal.until(quietAt < until ? quietAt : until);
    }
  } finally {
    unwatch();
    wakeSignal.close();
  }
}

function later(clock: WakingClock, milliseconds: number): Date {
  return new Date(clock.now().getTime() + milliseconds);
}
