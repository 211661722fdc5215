import { posix } from 'node:path';
import { PortholeError } from '../errors.ts';

/**
 * What may be lent of a sandbox. `fs:read`: files, listings, archives, whether it runs, events. `fs:write`: files, uploads, archives into it. `exec`: commands, sessions, terminals. Everything else is its
 * owner's: nobody can lend its life, its previews or the right to lend.
 */
export const SCOPES = ['fs:read', 'fs:write', 'exec'] as const;
export type Scope = (typeof SCOPES)[number];

export interface Grant {
  readonly scopes: readonly Scope[];
  /** The only names that `argv[0]` may have, letter by letter; null: any. */
  readonly commands: readonly string[] | null;
  /** The only folders, and files, that may be read and written: absolute, normalised, below /workspace; null: any. */
  readonly paths: readonly string[] | null;
}

/** All of what may be lent. */
export const WHOLE_GRANT: Grant = { scopes: SCOPES, commands: null, paths: null };

/** By which a route can tell more of a lent sandbox than its scope: the limits that it enforces itself. */
export type GrantLimit = 'commands' | 'paths';

/** Which limit stands in the way of an operation that enforces `enforced` alone; undefined: none does. */
export function limitInTheWay(
  grant: Grant,
  scope: Scope,
  enforced: GrantLimit | undefined,
): GrantLimit | undefined {
  const limit = scope === 'exec' ? 'commands' : 'paths';
  return grant[limit] !== null && enforced !== limit ? limit : undefined;
}

/**
 * Whether a command is among those that were lent. It is a guard rail and no wall: a program that was lent may start others.
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
 * Whether a path is among those that were lent, as it is written. Where symbolic links lead is judged in the sandbox, at the moment of use.
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
