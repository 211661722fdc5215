import { PortholeError } from '../errors.ts';

/**
 * For bash: `_porthole_root` prints where the workspace is; it is asked before a session is entered, which may have a WORKSPACE of its own. `_porthole_go ROOT FOLDER` goes to a folder below /workspace, symbolic
 * links resolved; nowhere where FOLDER is empty. Where it is no such folder, or leaves the workspace, it returns one of the codes that `exitOfEntering` knows. Judged is where the kernel says that it has arrived: bash resolves
 * links before it goes, and somebody may swap a folder for a link in between.
 */
export const ENTER_WORKSPACE = `
_porthole_root() { ( cd -P -- "\${WORKSPACE:-/workspace}" && pwd -P ); }
_porthole_go() {
  [ -n "$2" ] || return 0
  [ -n "$1" ] && cd -P -- "$1\${2#/workspace}" 2>/dev/null || return 71
  case "$(command -p readlink /proc/self/cwd 2>/dev/null || pwd -P)/" in "$1"/*) ;; *) return 72 ;; esac
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
