import type { WaitingApproval } from '../ports/approvals.ts';
import type { WakingClock } from '../ports/clock.ts';
import type { Owner } from '../ports/owner.ts';
import type { Records } from '../ports/records.ts';
import { createWakeBell } from './wake-bell.ts';

export interface FollowWaitingDeps {
  readonly records: Pick<Records, 'approvals'>;
  readonly clock: WakingClock;
}

export interface FollowWaiting {
  /** Whose runs; undefined: everybody's. */
  readonly owner: Owner | undefined;
  /** Milliseconds of silence after which it is said that nothing has changed. */
  readonly quietMs: number;
  readonly until: Date;
  readonly signals: readonly (AbortSignal | undefined)[];
}

/** More than a person decides on at a time. */
export const MOST_WAITING = 100;
/** Any news of any run is a reason to look: so often at most, in milliseconds. */
const LOOK_MS = 200;

/** What waits for a decision: at once, and again each time it has changed. `undefined` stands for a while in which it has not. */
export async function* followWaitingApprovals(
  { records: { approvals }, clock }: FollowWaitingDeps,
  { owner, quietMs, until, signals }: FollowWaiting,
): AsyncGenerator<readonly WaitingApproval[] | undefined, void> {
  const bell = createWakeBell(clock, signals);
  // Before the first look: what is asked after it rings.
  const unwatch = approvals.watch(bell.ring);
  const isOver = () => signals.some((signal) => signal?.aborted) || clock.now() >= until;
  let shown: string | undefined;
  let quietAt = later(clock, quietMs);
  try {
    while (!isOver()) {
      const waiting = await approvals.waiting(owner, clock.now(), MOST_WAITING);
      const ids = waiting.map(({ id }) => id).join();
      if (ids !== shown) {
        yield waiting;
        shown = ids;
        quietAt = later(clock, quietMs);
      } else if (clock.now() >= quietAt) {
        yield undefined;
        quietAt = later(clock, quietMs);
      }
      await clock.until(later(clock, LOOK_MS));
      await bell.until(earliest([until, quietAt, ...waiting.map(({ expiresAt }) => expiresAt)]));
    }
  } finally {
    unwatch();
    bell.close();
  }
}

function later(clock: WakingClock, milliseconds: number): Date {
  return new Date(clock.now().getTime() + milliseconds);
}

function earliest(instants: readonly Date[]): Date {
  return new Date(Math.min(...instants.map((each) => each.getTime())));
}
