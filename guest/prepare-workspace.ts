import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openFolder } from '../base/open-folder.ts';

const { R_OK, W_OK, X_OK } = constants;

/**
 * Makes the workspace accessible again if its own user has closed it, as by `chmod 000 .`, and
 * creates its folder for outputs if the name is free. False if another user owns it and the
 * sandbox's user has no access. No content of the workspace prevents a start.
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
  openFolder(folder);
  attempt(() => mkdirSync(join(folder, 'outputs')));
  return attempt(() => accessSync(folder, R_OK | W_OK | X_OK));
}

/** Folder of the home folder with a file per run, the credentials of the `porthole` command. */
export const RUNS_FOLDER = '.porthole/runs';

/** The workspace's file of declared servers. */
export const SERVERS_FILE = '.porthole/servers.json';

export function areServersDeclared(workspace: string): boolean {
  return existsSync(join(workspace, SERVERS_FILE));
}
