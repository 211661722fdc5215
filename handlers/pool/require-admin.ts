import { type Caller, requirePerson } from '#core/callers.ts';
import { PortholeError } from '#core/errors.ts';

/** @throws PortholeError `forbidden` for everybody but admins and the service itself: what it is about is everybody's */
export function requireAdmin(caller: Caller, action: string, what = 'the pool'): void {
  if (requirePerson(caller, action).admin) return;
  throw new PortholeError('forbidden', `Only an admin can ${action}: ${what} is shared by everybody.`);
}
