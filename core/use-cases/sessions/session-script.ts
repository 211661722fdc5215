/**
 * A session is a file in the sandbox: bash source that exports the environment and goes to the working directory that the session's last command left. So it needs no process of its own, any
 * instance of Porthole can go on with it, and it ends with the sandbox.
 *
 * Functions for bash, which set or read `_porthole_session`, the session's folder. `_porthole_enter ID` goes into a session, and begins it where there is none;
 * `_porthole_save` keeps its state. A state appears whole or not at all; of two commands at once the one that ends last is kept. In POSIX mode `export -p` writes `export`; the `declare -x` that it writes otherwise
 * would be local to the function that reads it. What bash lets nobody set is not kept: to set it ends a shell in POSIX mode.
 */
export const SESSION_FUNCTIONS = `
_porthole_folder() { _porthole_session=\${TMPDIR:-/tmp}/.porthole-sessions/s-$1; }
_porthole_enter() {
  _porthole_folder "$1"
  ( umask 077 && command -p mkdir -p -- "$_porthole_session" ) 2>/dev/null
  [ -f "$_porthole_session/state" ] && [ -r "$_porthole_session/state" ] || return 0
  while IFS= read -r _porthole_name; do unset -v "$_porthole_name"; done < <(compgen -e)
  . "$_porthole_session/state" 2>/dev/null
}
_porthole_save() {
  { ( builtin export -n SHELLOPTS BASHOPTS UID EUID PPID 2>/dev/null; builtin set -o posix && builtin export -p ) && builtin printf 'cd -- %q 2>/dev/null\\n' "$PWD"; } >"$_porthole_session/.$$" 2>/dev/null &&
    command -p mv -f -- "$_porthole_session/.$$" "$_porthole_session/state" 2>/dev/null
}
`;

/**
 * Bash source that goes into a session and then becomes the program that follows as its arguments: for what takes no commands from us, such as a terminal.
 * Use as `['bash', '-c', ENTER_AND_EXEC, 'bash', sessionId, program, ...args]`.
 */
export const ENTER_AND_EXEC = `${SESSION_FUNCTIONS}
_porthole_enter "$1"
unset -v _porthole_session _porthole_name
shift
exec -- "$@"
`;
