import { later, type WakingClock } from '#base/clock-and-ids.ts';
import { loopTurns } from '#base/loop-turns.ts';
import { createWakeSignal } from '#base/wake-signal.ts';

/** Keeps the last `capacity` bytes of a stream. */
export class ReplayRing {
  readonly #capacity: number;
  /** Allocated on the first write: most are never written to. */
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
export interface EventLog<Position, Event extends { readonly seq: Position }> {
  read(
    id: string,
    page: { readonly after: Position; readonly limit: number },
  ): Promise<{ readonly events: readonly Event[]; readonly more: boolean }>;
  watch(id: string, wake: () => void): () => void;
}

export interface EventStreamOptions<Position = number> {
  readonly id: string;
  /** The owner of the turns of the event loop that the reads and the events take. */
  readonly turnOwner: string;
  /** `seq` of the last known event; 0: none. */
  readonly after: Position;
  /** Milliseconds without an event after which `undefined` is yielded. */
  readonly quietMs: number;
  /** When the stream ends, even if events remain. */
  readonly until: Date;
  /** The stream ends once any of these is aborted. */
  readonly signals: readonly (AbortSignal | undefined)[];
}

/** Events per read. */
const PAGE = 100;

/**
 * Yields the events after a known one, each once and in order, then every new one. Yields
 * `undefined` after `quietMs` without an event; by then it has also read events with a missed wake.
 * In turns of the event loop: a client may open many streams of a long log at once.
 */
export async function* streamEvents<Position, Event extends { readonly seq: Position }>(
  log: EventLog<Position, Event>,
  clock: WakingClock,
  { id, turnOwner, after, quietMs, until, signals }: EventStreamOptions<Position>,
): AsyncGenerator<Event | undefined, void> {
  const wakeSignal = createWakeSignal(clock, signals);
  // Watches before the first read, so that no later append is missed.
  const unwatch = log.watch(id, wakeSignal.notify);
  const isOver = () => signals.some((signal) => signal?.aborted) || clock.now() >= until;
  let last = after;
  let quietAt = later(clock, quietMs);
  try {
    while (!isOver()) {
      const { events, more } = await loopTurns.run(turnOwner, () =>
        log.read(id, { after: last, limit: PAGE }),
      );
      for (const event of events) {
        const turn = loopTurns.next(turnOwner);
        if (turn !== undefined) await turn;
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
