import { EDITOR_OWNER } from '../editor/editor-limits.ts';
import { PortholeError } from '../errors.ts';
import type { Owner } from '../shared/clock-and-ids.ts';

/** Characters that a way back may have: it travels in a cookie. */
export const MAX_LOCAL_PATH = 1_000;

/**
 * Printable ASCII without a backslash, which browsers take for a slash; tabs and line breaks, which
 * they leave out before they look, are none.
 */
const PLAIN = /^\/[!-[\]-~]*$/;

/**
 * Whether it is a path of the very origin that hands it out, so that a redirect to it leads nowhere
 * else. `//host` is another origin, and `/.//host` is one once its dots are resolved.
 */
export function isLocalPath(path: string): boolean {
  if (path.length > MAX_LOCAL_PATH || !PLAIN.test(path)) return false;
  const url = URL.parse(path, 'http://porthole.invalid');
  return url !== null && url.origin === 'http://porthole.invalid' && !url.pathname.startsWith('//');
}

/**
 * Whose the sandboxes are that no record knew: nobody can be this, because whoever calls has an
 * org; admins see them.
 */
export const ORPHAN_OWNER: Owner = { user: 'stray', org: '' };

/**
 * Whose the sandboxes of a pool are until somebody takes them. Nobody can be this: whoever calls
 * has an org.
 */
export const POOL_OWNER: Owner = { user: 'warm-pool', org: '' };

export function isOfPool({ owner }: { readonly owner: Owner }): boolean {
  return owner.org === POOL_OWNER.org && owner.user === POOL_OWNER.user;
}

/** The bridge's form of a sandbox id. */
export const SANDBOX_ID = /^[a-z2-7]{1,128}$/;

/** @throws PortholeError `invalid_request`, worded as the sandbox bridge does */
export function checkSandboxId(id: string): string {
  if (SANDBOX_ID.test(id)) return id;
  throw new PortholeError('invalid_request', 'Invalid sandbox ID format');
}

/**
 * Whose the sandboxes are that the service keeps for itself: nobody who calls is one of them, and
 * nobody is shown their sandboxes, admins neither.
 */
export const SERVICE_OWNERS: readonly Owner[] = [POOL_OWNER, EDITOR_OWNER];

export function isOfService({ owner }: { readonly owner: Owner }): boolean {
  return SERVICE_OWNERS.some(({ org, user }) => owner.org === org && owner.user === user);
}
