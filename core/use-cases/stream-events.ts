import type { WakingClock } from '../ports/clock.ts';
import { createWakeSignal } from './wake-signal.ts';

/** A list of events that grows: a run's timeline, or what happens in a sandbox. */
export interface EventLog<Event extends { readonly seq: number }> {
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
 * The events after a known one, each once and in its order, and then every new one as it comes. `undefined` stands for a while in which there was none. Also what
 * no wake told of is seen by then.
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
