import { type Caller, ownerOf, requirePerson } from '#core/callers.ts';
import { PortholeError } from '#core/errors.ts';
import type { Owner } from '#core/ports/owner.ts';

/** Whose skill is put or deleted: the caller's own, or everybody's, which is null. @throws PortholeError `forbidden` */
export function skillOwner(caller: Caller, isShared: boolean, action: string): Owner | null {
  const person = requirePerson(caller, `${action} skills`);
  if (!isShared) return ownerOf(person);
  if (person.admin) return null;
  throw new PortholeError(
    'forbidden',
    `Only an admin can ${action} a shared skill: leave shared out for one of your own.`,
  );
}
