import { posix } from 'node:path';

/** The home of E2B's user. In images of ours it is a link to the workspace. */
export const E2B_HOME = '/home/user';
const WORKSPACE = '/workspace';

/** A path of E2B's clients: in the sandbox, and as they see it. */
export interface E2bPath {
  readonly path: string;
  /** A path below it, or the same one, as the client sees it. */
  readonly shown: (path: string) => string;
}

/** Relative paths start in the home, the workspace. Clients see paths as they gave them. */
export function readE2bPath(given: string): E2bPath {
  const absolute = posix.resolve(E2B_HOME, given);
  const isHome = absolute === E2B_HOME || absolute.startsWith(`${E2B_HOME}/`);
  return {
    path: isHome ? `${WORKSPACE}${absolute.slice(E2B_HOME.length)}` : absolute,
    shown: (path) =>
      isHome && (path === WORKSPACE || path.startsWith(`${WORKSPACE}/`))
        ? `${E2B_HOME}${path.slice(WORKSPACE.length)}`
        : path,
  };
}
