import { accessSync, chmodSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const { R_OK, W_OK, X_OK } = constants;

/** What the user of a folder needs to work in it. */
const OWN = 0o700;

/**
 * Opens the workspace where its own user has shut it, as by `chmod 000 .`, and makes its folder for
 * outputs where the name is free. False where it is another user's, who keeps the sandbox's out.
 * Nothing in it keeps a sandbox from starting.
 */
export function prepareWorkspace(folder: string): boolean {
  const attempt = (change: () => void): boolean => {
    try {
      change();
      return true;
    } catch {
      return false;
    }
  };
  const mayUse = (): boolean => attempt(() => accessSync(folder, R_OK | W_OK | X_OK));
  if (!mayUse()) attempt(() => chmodSync(folder, (statSync(folder).mode & 0o777) | OWN));
  attempt(() => mkdirSync(join(folder, 'outputs')));
  return mayUse();
}

/** Where the home folder has a file for each run, with which the `porthole` command acts for it. */
export const RUNS_FOLDER = '.porthole/runs';

/** Where a workspace keeps its declared servers. */
export const SERVERS_FILE = '.porthole/servers.json';

export function areServersDeclared(workspace: string): boolean {
  return existsSync(join(workspace, SERVERS_FILE));
}
