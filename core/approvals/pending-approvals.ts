import type { WaitingApproval } from './approval-store.ts';
import type { WakingClock, Owner } from '../shared/clock-and-ids.ts';
import type { Records } from '../shared/records.ts';
import { createWakeSignal } from '../shared/wake-signal.ts';

export interface PendingApprovalsDeps {
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

/**
 * What waits for decisions, for all who follow it on this instance: however many follow an owner's,
 * one looks.
 */
export interface PendingApprovals {
  /**
   * What waits: at once, and again each time it has changed. `undefined` stands for a while in
   * which it has not.
   * @throws PortholeError what the look threw that all who follow share
   */
  follow(following: FollowWaiting): AsyncGenerator<readonly WaitingApproval[] | undefined, void>;
}

/** More than a person decides on at a time. */
export const MOST_WAITING = 100;
/** Any news of any run is a reason to look: so often at most, in milliseconds. */
const POLL_MS = 200;
/** So late at most shows what no wake told of, in milliseconds. */
const REPOLL_MS = 15_000;

/** One owner's, while somebody follows it. */
interface ApprovalPoll {
  latest(): readonly WaitingApproval[] | undefined;
  /**
   * Rings whenever `latest` is another. Returns what ends that; with the last one the look ends.
   */
  join(notify: () => void): () => void;
}

export function createPendingApprovals(deps: PendingApprovalsDeps): PendingApprovals {
  const { clock } = deps;
  const polls = new Map<string, ApprovalPoll>();
  const pollOf = (owner: Owner | undefined): ApprovalPoll => {
    const key = JSON.stringify(owner === undefined ? [] : [owner.org, owner.user]);
    const present = polls.get(key);
    if (present !== undefined) return present;
    const begun = startPoll(deps, owner, () => polls.delete(key));
    polls.set(key, begun);
    return begun;
  };

  return {
    async *follow({ owner, quietMs, until, signals }) {
      const wakeSignal = createWakeSignal(clock, signals);
      const isOver = () => signals.some((signal) => signal?.aborted) || clock.now() >= until;
      const poll = pollOf(owner);
      const leave = poll.join(wakeSignal.notify);
      let shown: readonly WaitingApproval[] | undefined;
      let quietAt = later(clock, quietMs);
      try {
        while (!isOver()) {
          const waiting = poll.latest();
          if (waiting !== shown) {
            yield waiting;
            shown = waiting;
            quietAt = later(clock, quietMs);
          } else if (clock.now() >= quietAt) {
            yield undefined;
            quietAt = later(clock, quietMs);
          }
          await wakeSignal.until(earliest([until, quietAt]));
        }
      } finally {
        leave();
        wakeSignal.close();
      }
    },
  };
}

/** @param onEnd once: nobody can join it any more */
function startPoll(
  { records: { approvals }, clock }: PendingApprovalsDeps,
  owner: Owner | undefined,
  onEnd: () => void,
): ApprovalPoll {
  const followers = new Set<{ readonly notify: () => void }>();
  const ended = new AbortController();
  let latest: readonly WaitingApproval[] | undefined;
  let failure: { readonly error: unknown } | undefined;

  const end = () => {
    if (ended.signal.aborted) return;
    ended.abort();
    onEnd();
  };
  const notifyAll = () => {
    for (const { notify } of followers) notify();
  };
  const poll = async () => {
    const wakeSignal = createWakeSignal(clock, [ended.signal]);
    // Before the first look: what is asked after it rings.
    const unwatch = approvals.watch(wakeSignal.notify);
    try {
      while (!ended.signal.aborted) {
        const waiting = await approvals.waiting(owner, clock.now(), MOST_WAITING);
        if (latest === undefined || idsOf(waiting) !== idsOf(latest)) {
          latest = waiting;
          notifyAll();
        }
        await clock.until(later(clock, POLL_MS), ended.signal);
        await wakeSignal.until(
          earliest([later(clock, REPOLL_MS), ...waiting.map(({ expiresAt }) => expiresAt)]),
        );
      }
    } catch (error) {
      failure = { error };
      end();
      notifyAll();
    } finally {
      unwatch();
      wakeSignal.close();
    }
  };
  void poll();

  return {
    latest() {
      if (failure !== undefined) throw failure.error;
      return latest;
    },
    join(notify) {
      const follower = { notify };
      followers.add(follower);
      return () => {
        followers.delete(follower);
        if (followers.size === 0) end();
      };
    },
  };
}

function idsOf(waiting: readonly WaitingApproval[]): string {
  return waiting.map(({ id }) => id).join();
}

function later(clock: WakingClock, milliseconds: number): Date {
  return new Date(clock.now().getTime() + milliseconds);
}

function earliest(instants: readonly Date[]): Date {
  return new Date(Math.min(...instants.map((each) => each.getTime())));
}
