import { PortholeError } from '#base/errors.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import { sameOwner } from '#base/clock-and-ids.ts';

/** Longest return path in characters: it is stored in a cookie. */
export const MAX_LOCAL_PATH = 1_000;

/**
 * Printable ASCII without a backslash, which browsers treat as a slash. Excludes tabs and line
 * breaks, which browsers remove before they parse.
 */
const PLAIN = /^\/[!-[\]-~]*$/;

/**
 * Open redirects: whether the path stays on the same origin. `//host` is another origin, and so is
 * `/.//host` once its dots are resolved.
 */
export function isLocalPath(path: string): boolean {
  if (path.length > MAX_LOCAL_PATH || !PLAIN.test(path)) return false;
  const url = URL.parse(path, 'http://porthole.invalid');
  return url !== null && url.origin === 'http://porthole.invalid' && !url.pathname.startsWith('//');
}

/**
 * Owner of adopted orphans. No caller matches it, because every caller has an org. Admins see them.
 */
export const ORPHAN_OWNER: Owner = { user: 'orphan', org: '' };

/** Owner of pooled sandboxes until they are taken. No caller matches it: a caller has an org. */
export const POOL_OWNER: Owner = { user: 'warm-pool', org: '' };

/** Owner of the sandboxes that the editor runs tools in: they count against no user's quota. */
export const EDITOR_OWNER: Owner = { user: 'editor', org: '' };

export function isOfPool({ owner }: { readonly owner: Owner }): boolean {
  return sameOwner(owner, POOL_OWNER);
}

/** The bridge's form of a sandbox id. */
export const SANDBOX_ID = /^[a-z2-7]{1,128}$/;

/** @throws PortholeError `invalid_request`, worded as the sandbox bridge does */
export function checkSandboxId(id: string): string {
  if (SANDBOX_ID.test(id)) return id;
  throw new PortholeError('invalid_request', 'Invalid sandbox ID format');
}

/** Owners of the service's own sandboxes. No caller matches them or sees them, not even admins. */
export const SERVICE_OWNERS: readonly Owner[] = [POOL_OWNER, EDITOR_OWNER];

export function isOfService({ owner }: { readonly owner: Owner }): boolean {
  return SERVICE_OWNERS.some((each) => sameOwner(owner, each));
}
