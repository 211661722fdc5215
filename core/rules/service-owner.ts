import type { Owner } from '../ports/owner.ts';
import { EDITOR_OWNER } from './editor/editor-owner.ts';
import { POOL_OWNER } from './pool-owner.ts';

/** Whose the sandboxes are that the service keeps for itself: nobody who calls is one of them, and nobody is shown their sandboxes, admins neither. */
export const SERVICE_OWNERS: readonly Owner[] = [POOL_OWNER, EDITOR_OWNER];

export function isOfService({ owner }: { readonly owner: Owner }): boolean {
  return SERVICE_OWNERS.some(({ org, user }) => owner.org === org && owner.user === user);
}
