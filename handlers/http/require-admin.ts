import { PortholeError } from '#base/errors.ts';
import type { Person } from '#core/callers.ts';

/** @throws PortholeError `forbidden` for callers other than admins and the service */
export function requireAdmin(person: Person, action: string, shared: string): void {
  if (person.admin) return;
  throw new PortholeError('forbidden', `Only an admin can ${action}: ${shared} is shared.`);
}
