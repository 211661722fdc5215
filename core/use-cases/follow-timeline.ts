import type { WakingClock } from '../ports/clock.ts';
import type { Records } from '../ports/records.ts';
import type { RunEvent } from '../ports/timeline.ts';
import { createWakeBell } from './wake-bell.ts';

export interface FollowTimelineDeps {
  readonly records: Pick<Records, 'timeline'>;
  readonly clock: WakingClock;
}

export interface Following {
  readonly runId: string;
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
 * The events of a run after a known one, each once and in its order, and then every new one as it comes. `undefined` stands for a while in which there was none. Also what
 * no wake told of is seen by then.
 */
export async function* followTimeline(
  { records, clock }: FollowTimelineDeps,
  { runId, after, quietMs, until, signals }: Following,
): AsyncGenerator<RunEvent | undefined, void> {
  const bell = createWakeBell(clock, signals);
  // Before the first look: what is appended after it rings.
  const unwatch = records.timeline.watch(runId, bell.ring);
  const isOver = () => signals.some((signal) => signal?.aborted) || clock.now() >= until;
  let last = after;
  let quietAt = later(clock, quietMs);
  try {
    while (!isOver()) {
      const { events, more } = await records.timeline.read(runId, { after: last, limit: PAGE });
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
      await bell.until(quietAt < until ? quietAt : until);
    }
  } finally {
    unwatch();
    bell.close();
  }
}

function later(clock: WakingClock, milliseconds: number): Date {
  return new Date(clock.now().getTime() + milliseconds);
}
