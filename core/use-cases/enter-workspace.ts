import { PortholeError } from '../errors.ts';

/**
 * For bash: `_porthole_go FOLDER` goes to a folder below /workspace, symbolic links resolved; nowhere where FOLDER is empty. Where it is no such folder, or leaves the workspace, it returns one of the codes that
 * `exitOfEntering` knows. Judged is where it has arrived, so that nobody can swap the folder for a link in between.
 */
export const ENTER_WORKSPACE = `
_porthole_go() {
  [ -n "$1" ] || return 0
  _porthole_root=$(cd -P -- "\${WORKSPACE:-/workspace}" && pwd -P) || return 71
  cd -P -- "$_porthole_root\${1#/workspace}" 2>/dev/null || return 71
  case "$PWD/" in "$_porthole_root"/*) unset -v _porthole_root ;; *) return 72 ;; esac
}
`;

/** Why it could not be entered; undefined for any other exit code. */
export function exitOfEntering(code: number | undefined, folder: string): PortholeError | undefined {
  if (code === 71) return new PortholeError('exec_error', `cwd does not exist: ${folder}`);
  if (code === 72) {
    return new PortholeError('path_outside_workspace', 'cwd must resolve to a location within /workspace');
  }
  return undefined;
}
