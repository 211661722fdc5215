import { ownerOf, type Person } from '../callers.ts';
import type { AuditRecords } from './audit-event.ts';
import { actorOf, presentCause, withCause } from './present-cause.ts';

/** How a session began. */
export type SignInMethod = 'key' | 'oidc';

/**
 * Puts the beginning or the end of a browser session into the audit.
 * @param person the person of the session
 * @param method undefined: the session ends
 */
export async function auditSession(
  audit: Pick<AuditRecords, 'add'>,
  person: Person | undefined,
  method?: SignInMethod,
): Promise<void> {
  if (person?.session === undefined) return;
  const event = {
    type: method === undefined ? 'session.closed' : 'session.opened',
    subject: `session/${person.session.id}`,
    owner: ownerOf(person),
    data: method === undefined ? {} : { method },
  } as const;
  await withCause({ ...presentCause(), ...actorOf(person) }, () => audit.add([event]));
}
