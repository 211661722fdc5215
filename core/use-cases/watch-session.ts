import type { SessionRef } from '../callers.ts';
import { PortholeError } from '../errors.ts';
import type { WakingClock } from '../ports/clock.ts';
import type { Sessions } from '../ports/sessions.ts';
import { type WatchedCredential, watchWhileGood } from './watch-while-good.ts';

/** The session of a browser, for as long as something lasts that was begun with it: until it expires, or somebody signs out. */
export function watchSession(
  { sessions, clock }: { readonly sessions: Pick<Sessions, 'lasts'>; readonly clock: WakingClock },
  session: SessionRef,
): WatchedCredential {
  return watchWhileGood(clock, {
    goodUntil: async () => ((await sessions.lasts(session)) ? session.expiresAt : undefined),
    over: () => new PortholeError('unauthorized', 'This session is over: sign in again.'),
  });
}
