import type { Owner } from '../ports/owner.ts';

/** Whose the sandboxes of a pool are until somebody takes them. Nobody can be this: whoever calls has an org. */
export const POOL_OWNER: Owner = { user: 'warm-pool', org: '' };

export function isOfPool({ owner }: { readonly owner: Owner }): boolean {
  return owner.org === POOL_OWNER.org && owner.user === POOL_OWNER.user;
}
