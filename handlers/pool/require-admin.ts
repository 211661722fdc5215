import { type Caller, requirePerson } from '#core/callers.ts';
import { PortholeError } from '#core/errors.ts';

/** @throws PortholeError `forbidden` for everybody but admins and the service itself: the pool is everybody's */
export function requireAdmin(caller: Caller, action: string): void {
  if (requirePerson(caller, action).admin) return;
  throw new PortholeError('forbidden', `Only an admin can ${action}: the pool is shared by everybody.`);
}
