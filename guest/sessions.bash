# Sessions of the bridge. A session is a file in the sandbox: bash source that exports the
# environment and enters the working directory that the session's last command left. It needs no
# process, any instance of Porthole can continue it, and it ends with the sandbox.
#
# The guest passes this text to `bash -c`, with one of these in its arguments:
#
#   create ID FOLDER NAME=VALUE...   creates a session in a folder with further variables
#   delete ID                        deletes it; its background processes keep running
#   run MARK FOLDER ID COMMAND       runs a command line in a session (unless empty) and a folder
#   exec ID PROMPT PROGRAM ARG...     executes a program in a session, e.g. a terminal, with a
#                                    prompt (unless empty, and where the session has none)
#
# Exit codes before the command runs: 71 the folder does not exist, 72 it is outside the workspace,
# 73 the session exists already, or does not exist, 74 its state cannot be written or removed.
#
# A state is written atomically; of two concurrent commands, the last to end wins. In POSIX mode
# `export -p` writes `export`; the `declare -x` that it writes otherwise would be local to the
# function that reads it. Bash's read-only variables are not stored: setting one ends a shell in
# POSIX mode.

# Sets `_porthole_session`, the session's folder.
_porthole_folder() { _porthole_session=${TMPDIR:-/tmp}/.porthole-sessions/s-$1; }
# Enters a session, and creates it if it does not exist.
_porthole_enter() {
  _porthole_folder "$1"
  ( umask 077 && command -p mkdir -p -- "$_porthole_session" ) 2>/dev/null
  [ -f "$_porthole_session/state" ] && [ -r "$_porthole_session/state" ] || return 0
  while IFS= read -r _porthole_name; do unset -v "$_porthole_name"; done < <(compgen -e)
  . "$_porthole_session/state" 2>/dev/null
}
_porthole_save() {
  { ( builtin export -n SHELLOPTS BASHOPTS UID EUID PPID 2>/dev/null; builtin set -o posix && builtin export -p ) && builtin printf 'cd -- %q 2>/dev/null\n' "$PWD"; } >"$_porthole_session/.$$" 2>/dev/null &&
    command -p mv -f -- "$_porthole_session/.$$" "$_porthole_session/state" 2>/dev/null
}
# Prints the workspace's path. To be called before a session is entered, which may set WORKSPACE.
_porthole_root() { ( cd -P -- "${WORKSPACE:-/workspace}" && pwd -P ); }
# Enters a folder ($2) below /workspace ($1), symbolic links resolved. TOCTOU: a process may replace
# a folder with a link during `cd`, so it checks the kernel's working directory after it.
_porthole_go() {
  [ -n "$2" ] || return 0
  [ -n "$1" ] && cd -P -- "$1${2#/workspace}" 2>/dev/null || return 71
  case "$(command -p readlink /proc/self/cwd 2>/dev/null || pwd -P)/" in "$1"/*) ;; *) return 72 ;; esac
}
case $1 in
run)
  # Prints the mark on stderr, waits for a line on its input, and runs the command in its own place.
  # The wait keeps the command's output from overtaking the mark.
  shift
  set -- "$1" "$2" "$3" "$4" "$(_porthole_root)"
  [ -z "$3" ] || { _porthole_enter "$3"; trap '_porthole_save || builtin echo "porthole: the state of this session could not be kept: is /tmp full?" >&2' EXIT; }
  _porthole_go "$5" "$2" || { _porthole_code=$?; trap - EXIT; exit "$_porthole_code"; }
  printf '%s\n' "$1" >&2
  IFS= read -r _porthole_command || exit 1
  exec </dev/null
  _porthole_command=$4
  set --
  eval "unset -v _porthole_command; $_porthole_command"
  ;;
exec)
  _porthole_enter "$2"
  unset -v _porthole_session _porthole_name
  [ -n "${PS1-}" ] || [ -z "$3" ] || export PS1="$3"
  shift 3
  exec -- "$@"
  ;;
create)
  shift
  _porthole_folder "$1"
  ( umask 077 && mkdir -p -- "${_porthole_session%/*}" && mkdir -- "$_porthole_session" ) 2>/dev/null || {
    [ -d "$_porthole_session" ] && exit 73
    exit 74
  }
  _porthole_go "$(_porthole_root)" "$2" || { _porthole_code=$?; rmdir -- "$_porthole_session"; exit "$_porthole_code"; }
  shift 2
  # As arguments: set on the shell itself they would change how it runs.
  for _porthole_name; do export -- "$_porthole_name" 2>/dev/null; done
  _porthole_save || { rm -rf -- "$_porthole_session"; exit 74; }
  ;;
delete)
  _porthole_folder "$2"
  [ -d "$_porthole_session" ] || exit 73
  rm -rf -- "$_porthole_session" 2>/dev/null || exit 74
  ;;
esac
