import { type Delegate, superiorOf } from '../../callers.ts';
import { PortholeError } from '../../errors.ts';
import type { WakingClock } from '../../ports/clock.ts';
import type { Records } from '../../ports/records.ts';
import { createWakeBell } from '../wake-bell.ts';

export interface WatchCredentialDeps {
  readonly records: Pick<Records, 'delegations'>;
  readonly clock: WakingClock;
}

/** Also without a wake it is looked again after this long, in milliseconds: one that could be lost must not let a revoked credential go on. */
const LOOK_AGAIN_MS = 15_000;

/** The credential of a delegate, for as long as something lasts that was begun with it. */
export interface WatchedCredential {
  /** Aborted once the credential is good no longer, with `unauthorized`, and where nobody can tell, with why. */
  readonly signal: AbortSignal;
  /** Resolves once it has been looked at: from then on the signal tells. */
  readonly looked: Promise<void>;
  /** Nothing that was begun with it lasts any longer. */
  close(): void;
}

export function watchCredential(
  { records: { delegations }, clock }: WatchCredentialDeps,
  caller: Delegate,
): WatchedCredential {
  const { sandboxId, generation, delegationId, tokenVersion } = caller;
  const looked = Promise.withResolvers<void>();
  const lapsed = new AbortController();
  const closed = new AbortController();
  const bell = createWakeBell(clock, [closed.signal]);
  /** Until when it is good, as far as is known. */
  const goodUntil = async (): Promise<Date | undefined> => {
    if (delegationId === null) {
      const version = await delegations.tokenVersion({ id: sandboxId, generation });
      return version === tokenVersion ? new Date(clock.now().getTime() + LOOK_AGAIN_MS) : undefined;
    }
    const delegation = await delegations.get(delegationId);
    return delegation !== undefined && delegation.expiresAt > clock.now() ? delegation.expiresAt : undefined;
  };
  const unwatch = delegations.watch(sandboxId, bell.ring);
  const look = async (): Promise<void> => {
    try {
      while (!closed.signal.aborted) {
        const until = await goodUntil();
        if (until === undefined) throw noLongerGood(caller);
        looked.resolve();
        await bell.until(new Date(Math.min(until.getTime(), clock.now().getTime() + LOOK_AGAIN_MS)));
      }
    } finally {
      unwatch();
      bell.close();
    }
  };
  look().catch((error: unknown) => {
    // Where the records cannot be asked, nothing goes on that they might have ended.
    if (!closed.signal.aborted) lapsed.abort(error);
    looked.resolve();
  });
  return { signal: lapsed.signal, looked: looked.promise, close: () => closed.abort() };
}

function noLongerGood(caller: Delegate): PortholeError {
  return new PortholeError(
    'unauthorized',
    `This credential is no longer good: ask ${superiorOf(caller)} for another.`,
  );
}
