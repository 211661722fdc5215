import { type Delegate, superiorOf } from '../../callers.ts';
import { PortholeError } from '../../errors.ts';
import type { WakingClock } from '../../ports/clock.ts';
import type { Records } from '../../ports/records.ts';
import { type WatchedCredential, watchWhileGood } from '../watch-while-good.ts';

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
