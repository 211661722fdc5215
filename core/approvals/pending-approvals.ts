import type { WaitingApproval } from './approval-store.ts';
import { later, type Owner, type WakingClock } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import { createWakeSignal } from '#base/wake-signal.ts';

export interface PendingApprovalsDeps {
  readonly records: Pick<Records, 'approvals'>;
  readonly clock: WakingClock;
}

export interface FollowWaiting {
  /** The owner of the runs; undefined: all owners. */
  readonly owner: Owner | undefined;
  /** Milliseconds without a change after which `follow` yields `undefined`. */
  readonly quietMs: number;
  readonly until: Date;
  readonly signals: readonly (AbortSignal | undefined)[];
}

/**
 * Pending approvals for all followers on this instance. The followers of one owner share one poll.
 */
export interface PendingApprovals {
  /**
   * Yields the pending approvals at once and after each change. Yields `undefined` after `quietMs`
   * without a change.
   * @throws PortholeError the error of the poll that the followers share
   */
  follow(following: FollowWaiting): AsyncGenerator<readonly WaitingApproval[] | undefined, void>;
}

/** More than a person can decide at once. */
export const MAX_WAITING = 100;
/** An event of any run triggers a poll. Minimum time between polls, in milliseconds. */
const POLL_MS = 200;
/** Maximum time between polls, in milliseconds, in case a notification is lost. */
const REPOLL_MS = 15_000;

/** The poll of one owner, for as long as it has followers. */
interface ApprovalPoll {
  latest(): readonly WaitingApproval[] | undefined;
  /** Calls `notify` when `latest` changes. Returns an unsubscribe; the last one ends the poll. */
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

/** @param onEnd called once, when no follower can join any more */
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
    // Subscribe before the first poll: a request that arrives after it triggers the next one.
    const unwatch = approvals.watch(wakeSignal.notify);
    try {
      while (!ended.signal.aborted) {
        const waiting = await approvals.waiting(owner, clock.now(), MAX_WAITING);
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

function earliest(instants: readonly Date[]): Date {
  return new Date(Math.min(...instants.map((each) => each.getTime())));
}
