import type { Owner } from '../ports/owner.ts';

/** Whose the sandboxes are that no record knew: nobody can be this, because whoever calls has an org; admins see them. */
export const ORPHAN_OWNER: Owner = { user: 'stray', org: '' };
