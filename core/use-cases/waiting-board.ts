import type { WaitingApproval } from '../ports/approvals.ts';
import type { WakingClock } from '../ports/clock.ts';
import type { Owner } from '../ports/owner.ts';
import type { Records } from '../ports/records.ts';
import { createWakeBell } from './wake-bell.ts';

export interface WaitingBoardDeps {
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

/** What waits for decisions, for all who follow it on this instance: however many follow an owner's, one looks. */
export interface WaitingBoard {
  /**
   * What waits: at once, and again each time it has changed. `undefined` stands for a while in which it has not.
   * @throws PortholeError what the look threw that all who follow share
   */
  follow(following: FollowWaiting): AsyncGenerator<readonly WaitingApproval[] | undefined, void>;
}

/** More than a person decides on at a time. */
export const MOST_WAITING = 100;
/** Any news of any run is a reason to look: so often at most, in milliseconds. */
const LOOK_MS = 200;
/** So late at most shows what no wake told of, in milliseconds. */
const LOOK_AGAIN_MS = 15_000;

/** One owner's, while somebody follows it. */
interface Look {
  latest(): readonly WaitingApproval[] | undefined;
  /** Rings whenever `latest` is another. Returns what ends that; with the last one the look ends. */
  join(ring: () => void): () => void;
}

export function createWaitingBoard(deps: WaitingBoardDeps): WaitingBoard {
  const { clock } = deps;
  const looks = new Map<string, Look>();
  const lookOf = (owner: Owner | undefined): Look => {
    const key = JSON.stringify(owner === undefined ? [] : [owner.org, owner.user]);
    const present = looks.get(key);
    if (present !== undefined) return present;
    const begun = beginLook(deps, owner, () => looks.delete(key));
    looks.set(key, begun);
    return begun;
  };

  return {
    async *follow({ owner, quietMs, until, signals }) {
      const bell = createWakeBell(clock, signals);
      const isOver = () => signals.some((signal) => signal?.aborted) || clock.now() >= until;
      const look = lookOf(owner);
      const leave = look.join(bell.ring);
      let shown: readonly WaitingApproval[] | undefined;
      let quietAt = later(clock, quietMs);
      try {
        while (!isOver()) {
          const waiting = look.latest();
          if (waiting !== shown) {
            yield waiting;
            shown = waiting;
            quietAt = later(clock, quietMs);
          } else if (clock.now() >= quietAt) {
            yield undefined;
            quietAt = later(clock, quietMs);
          }
          await bell.until(earliest([until, quietAt]));
        }
      } finally {
        leave();
        bell.close();
      }
    },
  };
}

/** @param onEnd once: nobody can join it any more */
function beginLook(
  { records: { approvals }, clock }: WaitingBoardDeps,
  owner: Owner | undefined,
  onEnd: () => void,
): Look {
  const followers = new Set<{ readonly ring: () => void }>();
  const ended = new AbortController();
  let latest: readonly WaitingApproval[] | undefined;
  let failure: { readonly error: unknown } | undefined;

  const end = () => {
    if (ended.signal.aborted) return;
    ended.abort();
    onEnd();
  };
  const ringAll = () => {
    for (const { ring } of followers) ring();
  };
  const look = async () => {
    const bell = createWakeBell(clock, [ended.signal]);
    // Before the first look: what is asked after it rings.
    const unwatch = approvals.watch(bell.ring);
    try {
      while (!ended.signal.aborted) {
        const waiting = await approvals.waiting(owner, clock.now(), MOST_WAITING);
        if (latest === undefined || idsOf(waiting) !== idsOf(latest)) {
          latest = waiting;
          ringAll();
        }
        await clock.until(later(clock, LOOK_MS), ended.signal);
        await bell.until(
          earliest([later(clock, LOOK_AGAIN_MS), ...waiting.map(({ expiresAt }) => expiresAt)]),
        );
      }
    } catch (error) {
      failure = { error };
      end();
      ringAll();
    } finally {
      unwatch();
      bell.close();
    }
  };
  void look();

  return {
    latest() {
      if (failure !== undefined) throw failure.error;
      return latest;
    },
    join(ring) {
      const follower = { ring };
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
