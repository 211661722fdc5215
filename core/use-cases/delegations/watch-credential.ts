import type { Delegate } from '../../callers.ts';
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
  /** Aborted once the credential is good no longer, and where nobody can tell. */
  readonly signal: AbortSignal;
  /** Nothing that was begun with it lasts any longer. */
  close(): void;
}

export function watchCredential(
  { records: { delegations }, clock }: WatchCredentialDeps,
  { sandboxId, generation, delegationId, tokenVersion }: Delegate,
): WatchedCredential {
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
        if (until === undefined) break;
        await bell.until(new Date(Math.min(until.getTime(), clock.now().getTime() + LOOK_AGAIN_MS)));
      }
    } finally {
      unwatch();
      bell.close();
      if (!closed.signal.aborted) lapsed.abort(new Error('the credential is no longer good'));
    }
  };
  // Where the records cannot be asked, nothing goes on that they might have ended.
  look().catch(() => undefined);
  return { signal: lapsed.signal, close: () => closed.abort() };
}
