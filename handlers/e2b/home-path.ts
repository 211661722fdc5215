import { posix } from 'node:path';

/** The home of E2B's user. In images of ours it is a link to the workspace. */
export const E2B_HOME = '/home/user';
const WORKSPACE = '/workspace';
const TEMPORARY = '/tmp';

/** A path of E2B's clients: in the sandbox, and as they see it. */
export interface E2bPath {
  /** Of a file in `/tmp`, the path that it would have in the workspace. */
  readonly path: string;
  readonly isTemporary: boolean;
  /** A path below it, or the same one, as the client sees it. */
  readonly shown: (path: string) => string;
}

/** Relative paths start in the home, the workspace. Clients see paths as they gave them. */
export function readE2bPath(given: string): E2bPath {
  const absolute = posix.resolve(E2B_HOME, given);
  const seen = [E2B_HOME, TEMPORARY].find((folder) => isWithin(absolute, folder));
  if (seen === undefined) return { path: absolute, isTemporary: false, shown: (path) => path };
  return {
    path: moved(absolute, seen, WORKSPACE),
    isTemporary: seen === TEMPORARY,
    shown: (path) => (isWithin(path, WORKSPACE) ? moved(path, WORKSPACE, seen) : path),
  };
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function moved(path: string, from: string, to: string): string {
  return `${to}${path.slice(from.length)}`;
}
