import { posix } from 'node:path';
import { PortholeError } from '../errors.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';

/**
 * What may be lent of a sandbox. `fs:read`: files, listings, archives, whether it runs, events.
 * `fs:write`: files, uploads, archives into it. `exec`: commands, sessions, terminals. Everything
 * else is its owner's: nobody can lend its life, its previews or the right to lend.
 */
export const SCOPES = ['fs:read', 'fs:write', 'exec'] as const;
export type Scope = (typeof SCOPES)[number];

export interface Grant {
  readonly scopes: readonly Scope[];
  /** The only names that `argv[0]` may have, letter by letter; null: any. */
  readonly commands: readonly string[] | null;
  /**
   * The only folders, and files, that may be read and written: absolute, normalised, below
   * /workspace; null: any.
   */
  readonly paths: readonly string[] | null;
}

/** All of what may be lent. */
export const WHOLE_GRANT: Grant = { scopes: SCOPES, commands: null, paths: null };

/**
 * By which a route can tell more of a lent sandbox than its scope: the limits that it enforces
 * itself.
 */
export type GrantLimit = 'commands' | 'paths';

/**
 * Which limit stands in the way of an operation that enforces `enforced` alone; undefined: none
 * does.
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
 * Whether a command is among those that were lent. It is a guard rail and no wall: a program that
 * was lent may start others.
 * @throws PortholeError `forbidden`
 */
export function checkCommand(
  { commands }: Grant,
  argv: readonly string[],
  sessionId: string | undefined,
): void {
  if (commands === null) return;
  if (sessionId !== undefined) {
    throw new PortholeError(
      'forbidden',
      'This credential is good for certain commands alone, and a session could change what they mean: leave out Session-Id.',
    );
  }
  const name = argv[0] ?? '';
  if (commands.includes(name)) return;
  throw new PortholeError(
    'forbidden',
    `This credential does not run ${JSON.stringify(name.slice(0, 80))}: it is good for ${named(commands)}, under exactly these names.`,
  );
}

/**
 * Whether a path is among those that were lent, as it is written. Where symbolic links lead is
 * judged in the sandbox, at the moment of use.
 * @param absolute normalised, below /workspace
 * @throws PortholeError `forbidden`
 */
export function checkPath(paths: readonly string[], absolute: string): void {
  if (paths.some((path) => isWithin(path, absolute))) return;
  throw new PortholeError(
    'forbidden',
    `This credential does not reach ${absolute.slice(0, 200)}: it is good for ${named(paths)}.`,
  );
}

/** The first of them: all could be 64 of 4,000 letters. */
function named(texts: readonly string[]): string {
  const some = texts.slice(0, 10).map((text) => text.slice(0, 200));
  return some.join(', ') + (texts.length > some.length ? ', …' : '');
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? folder : `${folder}/`);
}

/** Of a path to lend. @throws PortholeError `invalid_request` */
export function delegatedPath(path: string): string {
  const absolute = posix.resolve('/workspace', path);
  if (isWithin('/workspace', absolute)) return absolute;
  throw new PortholeError(
    'invalid_request',
    `paths: ${JSON.stringify(path.slice(0, 200))} is not below /workspace: only what is there can be lent.`,
  );
}

/** Which sandbox, and which of those that had its id. */
export type SandboxKey = Pick<SandboxRecord, 'id' | 'generation'>;

/** A part of a sandbox that its owner has lent to somebody, for a while. */
export interface DelegationRecord {
  readonly id: string;
  readonly sandbox: SandboxKey;
  readonly grant: Grant;
  /** Whom it is for, in the owner's words. */
  readonly label: string | null;
  readonly renewable: boolean;
  /** Milliseconds that it lasts, and that each renewal adds from then on. */
  readonly ttl: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/**
 * What of a sandbox is lent to whom, and which of its own tokens is good. A revoked delegation is
 * none.
 */
export interface DelegationRecords {
  /** False, and nothing changed, where `most` of the sandbox live at its `createdAt`. */
  create(delegation: DelegationRecord, most: number): Promise<boolean>;
  /** Also one that has expired, for as long as nobody has forgotten it. */
  get(id: string): Promise<DelegationRecord | undefined>;
  /** Those that live at `now`, oldest first. */
  list(sandbox: SandboxKey, now: Date): Promise<readonly DelegationRecord[]>;
  /**
   * Makes one that lives at `at` last for its `ttl` from then, and never shorter than it would
   * have; returns it as it then stands. Undefined where none lives, or it is not renewable.
   */
  renew(id: string, sandbox: SandboxKey, at: Date): Promise<DelegationRecord | undefined>;
  /**
   * Ends it at once, for every instance: no `get` and no `renew` that begins afterwards finds it.
   * False where there is none.
   */
  revoke(id: string, sandbox: SandboxKey): Promise<boolean>;
  /** Forgets those that expired before; says how many. */
  forget(before: Date): Promise<number>;
  /** Which of the sandbox's own tokens is good: 0 before any rotation. */
  tokenVersion(sandbox: SandboxKey): Promise<number>;
  /** Makes the next one the only good one; returns its number. */
  rotateToken(sandbox: SandboxKey): Promise<number>;
  /**
   * Calls `wake` after each change of what is lent of the sandbox, by whichever instance, and
   * whenever changes may have been missed. It may come without one, and it may be late. Returns
   * what ends it.
   */
  watch(sandboxId: string, wake: () => void): () => void;
}
