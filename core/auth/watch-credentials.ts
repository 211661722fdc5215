import { type Delegate, type SessionRef, superiorOf } from '../callers.ts';
import { PortholeError } from '../errors.ts';
import type { WakingClock } from '../shared/clock-and-ids.ts';
import type { Records } from '../shared/records.ts';
import { createWakeSignal } from '../shared/wake-signal.ts';
import type { Sessions } from './sign-in.ts';

/**
 * Also without a wake it is looked again after this long, in milliseconds: one that could be lost
 * must not let what was revoked go on.
 */
const REPOLL_MS = 15_000;

/** What somebody showed, for as long as something lasts that was begun with it. */
export interface WatchedCredential {
  /**
   * Aborted once the credential is good no longer, with `unauthorized`, and where nobody can tell,
   * with why.
   */
  readonly signal: AbortSignal;
  /** Resolves once it has been looked at: from then on the signal tells. */
  readonly looked: Promise<void>;
  /** Nothing that was begun with it lasts any longer. */
  close(): void;
}

interface WatchOptions {
  /**
   * Until when it is good, as far as is known; undefined once it is not. Null: for as long as
   * nobody ends it.
   */
  readonly goodUntil: () => Promise<Date | null | undefined>;
  /** Has `ring` called when it may have changed; returns what ends that. @default nobody tells */
  readonly watch?: (notify: () => void) => () => void;
  /** What its signal is aborted with. */
  readonly over: () => Error;
}

/** Looks at something again and again, for as long as it is good. */
function watchWhileGood(
  clock: WakingClock,
  { goodUntil, watch = () => () => undefined, over }: WatchOptions,
): WatchedCredential {
  const looked = Promise.withResolvers<void>();
  const lapsed = new AbortController();
  const closed = new AbortController();
  const wakeSignal = createWakeSignal(clock, [closed.signal]);
  const unwatch = watch(wakeSignal.notify);
  const poll = async (): Promise<void> => {
    try {
      while (!closed.signal.aborted) {
        const until = await goodUntil();
        if (until === undefined) throw over();
        looked.resolve();
        const again = clock.now().getTime() + REPOLL_MS;
        await wakeSignal.until(new Date(until === null ? again : Math.min(until.getTime(), again)));
      }
    } finally {
      unwatch();
      wakeSignal.close();
    }
  };
  poll().catch((error: unknown) => {
    // Where the records cannot be asked, nothing goes on that they might have ended.
    if (!closed.signal.aborted) lapsed.abort(error);
    looked.resolve();
  });
  return { signal: lapsed.signal, looked: looked.promise, close: () => closed.abort() };
}

export interface WatchCredentialDeps {
  readonly records: { readonly delegations: Pick<Records['delegations'], 'tokenVersion' | 'get' | 'watch'> };
  readonly clock: WakingClock;
}

/** The credential of a delegate, for as long as something lasts that was begun with it. */
export function watchCredential(
  { records: { delegations }, clock }: WatchCredentialDeps,
  caller: Delegate,
): WatchedCredential {
  const { sandboxId, generation, delegationId, tokenVersion } = caller;
  return watchWhileGood(clock, {
    async goodUntil() {
      if (delegationId === null) {
        const version = await delegations.tokenVersion({ id: sandboxId, generation });
        return version === tokenVersion ? null : undefined;
      }
      const delegation = await delegations.get(delegationId);
      return delegation !== undefined && delegation.expiresAt > clock.now()
        ? delegation.expiresAt
        : undefined;
    },
    watch: (ring) => delegations.watch(sandboxId, ring),
    over: () => noLongerGood(caller),
  });
}

function noLongerGood(caller: Delegate): PortholeError {
  return new PortholeError(
    'unauthorized',
    `This credential is no longer good: ask ${superiorOf(caller)} for another.`,
  );
}

/**
 * The session of a browser, for as long as something lasts that was begun with it: until it
 * expires, or somebody signs out.
 */
export function watchSession(
  { sessions, clock }: { readonly sessions: Pick<Sessions, 'lasts'>; readonly clock: WakingClock },
  session: SessionRef,
): WatchedCredential {
  return watchWhileGood(clock, {
    goodUntil: async () => ((await sessions.lasts(session)) ? session.expiresAt : undefined),
    over: () => new PortholeError('unauthorized', 'This session is over: sign in again.'),
  });
}
