import { posix } from 'node:path';
import { PortholeError } from '#base/errors.ts';
import type { SandboxKey } from '../sandboxes/sandbox-records.ts';

/**
 * Scopes of a delegation. `fs:read`: files, listings, archives, state, events. `fs:write`: files,
 * uploads, archives into it. `exec`: commands, sessions, terminals. Nothing else can be delegated:
 * not lifecycle, previews or delegation itself.
 */
export const SCOPES = ['fs:read', 'fs:write', 'exec'] as const;
export type Scope = (typeof SCOPES)[number];

export interface Grant {
  readonly scopes: readonly Scope[];
  /** The allowed values of `argv[0]`, compared exactly; null: any. */
  readonly commands: readonly string[] | null;
  /**
   * The only folders and files that may be read and written: absolute, normalised, below
   * /workspace; null: any.
   */
  readonly paths: readonly string[] | null;
}

/** Everything that can be delegated. */
export const WHOLE_GRANT: Grant = { scopes: SCOPES, commands: null, paths: null };

/** A limit of a grant, besides its scopes. A route names the limit that it enforces. */
export type GrantLimit = 'commands' | 'paths';

/**
 * The limit of the grant that blocks an operation because the operation enforces only `enforced`;
 * undefined: none.
 */
export function limitInTheWay(
  grant: Grant,
  scope: Scope,
  enforced: GrantLimit | undefined,
): GrantLimit | undefined {
  const limit = scope === 'exec' ? 'commands' : 'paths';
  return grant[limit] !== null && enforced !== limit ? limit : undefined;
}

/**
 * Whether the grant allows a command. A guard rail, not a security boundary: an allowed program can
 * start others.
 * @throws PortholeError `forbidden`
 */
export function checkCommand(
  { commands }: Grant,
  argv: readonly string[],
  { sessionId, env = {} }: { readonly sessionId?: string | undefined; readonly env?: object | undefined },
): void {
  if (commands === null) return;
  const field = sessionId !== undefined ? 'Session-Id' : Object.keys(env).length > 0 ? 'env' : undefined;
  if (field !== undefined) {
    throw new PortholeError(
      'forbidden',
      `This credential runs only certain commands, and ${field} could change their meaning`,
      { remedy: `leave out ${field}.` },
    );
  }
  const name = argv[0] ?? '';
  if (commands.includes(name)) return;
  throw new PortholeError(
    'forbidden',
    `This credential does not run ${JSON.stringify(name.slice(0, 80))}: it runs ${named(commands)}, by exactly these names.`,
  );
}

/**
 * Whether the grant allows a path, as text. The sandbox checks symbolic links at the moment of use.
 * @param absolute normalised, below /workspace
 * @throws PortholeError `forbidden`
 */
export function checkPath(paths: readonly string[], absolute: string): void {
  if (paths.some((path) => isWithin(path, absolute))) return;
  throw new PortholeError(
    'forbidden',
    `This credential has no access to ${absolute.slice(0, 200)}: it has access to ${named(paths)}.`,
  );
}

/** The first ones only: the full list could have 64 entries of 4,000 characters. */
function named(texts: readonly string[]): string {
  const some = texts.slice(0, 10).map((text) => text.slice(0, 200));
  return some.join(', ') + (texts.length > some.length ? ', …' : '');
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? folder : `${folder}/`);
}

/** Normalises a path of a grant. @throws PortholeError `invalid_request` */
export function delegatedPath(path: string): string {
  const absolute = posix.resolve('/workspace', path);
  if (isWithin('/workspace', absolute)) return absolute;
  throw new PortholeError(
    'invalid_request',
    `paths: ${JSON.stringify(path.slice(0, 200))} is not below /workspace: only paths in /workspace can be delegated.`,
  );
}

/** A part of a sandbox that its owner has delegated, for a limited time. */
export interface DelegationRecord {
  readonly id: string;
  readonly sandbox: SandboxKey;
  readonly grant: Grant;
  /** The delegate, in the owner's words. */
  readonly label: string | null;
  readonly renewable: boolean;
  /** Lifetime in milliseconds, counted again from each renewal. */
  readonly ttl: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/**
 * Delegations of sandboxes, and the valid version of each sandbox's own token. A revoked delegation
 * does not exist.
 */
export interface DelegationRecords {
  /** Returns false, without a change, if `most` of the sandbox are live at its `createdAt`. */
  create(delegation: DelegationRecord, most: number): Promise<boolean>;
  /** Also returns an expired one until it is deleted. */
  get(id: string): Promise<DelegationRecord | undefined>;
  /** Live delegations at `now`, oldest first. */
  list(sandbox: SandboxKey, now: Date): Promise<readonly DelegationRecord[]>;
  /**
   * Extends a delegation that is live at `at` to its `ttl` from then, never to an earlier expiry;
   * returns the new record. Undefined if none is live, or it is not renewable.
   */
  renew(id: string, sandbox: SandboxKey, at: Date): Promise<DelegationRecord | undefined>;
  /**
   * Ends it at once, for every instance: no `get` or `renew` that begins afterwards finds it.
   * Returns false if it does not exist.
   */
  revoke(id: string, sandbox: SandboxKey): Promise<boolean>;
  /** Deletes those that expired before; returns how many. */
  forget(before: Date): Promise<number>;
  /** The valid version of the sandbox's own token: 0 before any rotation. */
  tokenVersion(sandbox: SandboxKey): Promise<number>;
  /** Makes the next version the only valid one; returns it. */
  rotateToken(sandbox: SandboxKey): Promise<number>;
  /**
   * Calls `wake` after each change to the sandbox's delegations, by any instance, and whenever
   * changes may have been missed. Calls can be spurious or late. Returns a function that
   * unsubscribes.
   */
  watch(sandboxId: string, wake: () => void): () => void;
}
