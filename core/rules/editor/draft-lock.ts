import { PortholeError } from '../../errors.ts';
import type { DraftLock, DraftRecord, LockClaim } from '../../ports/editor.ts';

/** How long a lock is good for, and each renewal of it, in milliseconds. */
export const LOCK_MS = 10 * 60_000;

/** The lock that somebody holds at `now`. */
export function activeLock(lock: DraftLock | null, now: Date): DraftLock | undefined {
  return lock !== null && lock.expiresAt > now ? lock : undefined;
}

/** Whether the claim is good: its token is that of the lock, which is not over. */
export function holdsLock({ lock }: Pick<DraftRecord, 'lock'>, { tokenSha256, at }: LockClaim): boolean {
  return activeLock(lock, at)?.tokenSha256 === tokenSha256;
}

/** Why somebody who does not hold the lock may not go on: who does, and until when. */
export function draftLocked(
  { toolId, lock }: Pick<DraftRecord, 'toolId' | 'lock'>,
  now: Date,
): PortholeError {
  const active = activeLock(lock, now);
  const route = `POST /api/v1/editor/tools/${toolId}/draft/lock`;
  if (active === undefined) {
    return new PortholeError(
      'draft_locked',
      `You do not hold the lock of this draft, and nobody else does: take it with ${route}, and send its token as Draft-Lock-Token.`,
    );
  }
  const { holder, expiresAt } = active;
  const until = expiresAt.toISOString();
  return new PortholeError(
    'draft_locked',
    `The draft is locked by ${holder.user} until ${until}: send the token of that lock as Draft-Lock-Token, or take the lock with ${route} once it is free.`,
    { details: { holder: holder.user, expires_at: until } },
  );
}
