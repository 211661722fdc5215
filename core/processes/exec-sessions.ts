import { PortholeError } from '../errors.ts';
import { resolveWorkspacePath } from '../files/workspace-path.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import { ENTER_WORKSPACE, exitOfEntering, runToEnd } from './collect-command.ts';

/** The bridge's form of a session id. */
const SESSION_ID = /^(?!.*\.\.)[a-zA-Z0-9._-]{1,128}$/;

/** @throws PortholeError `invalid_request`, worded as the sandbox bridge does */
export function checkSessionId(id: string): string {
  if (SESSION_ID.test(id)) return id;
  throw new PortholeError('invalid_request', 'Invalid session ID format');
}

/**
 * A session is a file in the sandbox: bash source that exports the environment and enters the
 * working directory that the session's last command left. It needs no process, any instance of
 * Porthole can continue it, and it ends with the sandbox.
 *
 * Functions for bash, which set or read `_porthole_session`, the session's folder. `_porthole_enter
 * ID` enters a session and creates it if it does not exist; `_porthole_save` stores its state. A
 * state is written atomically; of two concurrent commands, the last to end wins. In POSIX mode
 * `export -p` writes `export`; the `declare -x` that it writes otherwise would be local to the
 * function that reads it. Bash's read-only variables are not stored: setting one ends a shell in
 * POSIX mode.
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
 * Bash source that enters a session and then executes the program in its arguments, e.g. a
 * terminal. Use as `['bash', '-c', ENTER_AND_EXEC, 'bash', sessionId, program, ...args]`.
 */
export const ENTER_AND_EXEC = `${SESSION_FUNCTIONS}
_porthole_enter "$1"
unset -v _porthole_session _porthole_name
shift
exec -- "$@"
`;

interface NewSession {
  readonly id: string;
  /** Within /workspace, its default. */
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The sandbox's own variables, beneath those of the session. */
  readonly sandboxEnv?: Readonly<Record<string, string>> | undefined;
}

/**
 * `$1` is the id, `$2` the folder. The environment follows as arguments: set on the shell itself it
 * would change how the shell runs.
 */
const CREATE = `${SESSION_FUNCTIONS}${ENTER_WORKSPACE}
_porthole_folder "$1"
( umask 077 && mkdir -p -- "\${_porthole_session%/*}" && mkdir -- "$_porthole_session" ) 2>/dev/null || {
  [ -d "$_porthole_session" ] && exit 73
  exit 74
}
_porthole_go "$(_porthole_root)" "$2" || { _porthole_code=$?; rmdir -- "$_porthole_session"; exit "$_porthole_code"; }
shift 2
for _porthole_name; do export -- "$_porthole_name" 2>/dev/null; done
_porthole_save || { rm -rf -- "$_porthole_session"; exit 74; }
`;

/**
 * The longest that storing or removing a session's state may take, in milliseconds: a process may
 * have replaced the file with one that blocks.
 */
const KEPT_WITHIN_MS = 10_000;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Linux limits one variable to 128 KiB, and all of them to a few MiB. */
const MAX_ENV_BYTES = 131_072;

/**
 * Creates a session with its own working directory and environment.
 * @throws PortholeError `invalid_request`, `path_outside_workspace`; `session_error` if the id
 * exists or the session cannot be created
 */
export async function createSession(
  { provider }: { readonly provider: Pick<Sandboxes, 'exec'> },
  sandboxId: string,
  { id, cwd, env = {}, sandboxEnv }: NewSession,
  signal?: AbortSignal,
): Promise<void> {
  checkSessionId(id);
  checkEnvironment(env);
  const folder = cwd === undefined ? '' : resolveWorkspacePath(cwd, 'cwd');
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const { code } = await runToEnd(
    provider,
    sandboxId,
    { argv: ['bash', '-c', CREATE, 'bash', id, folder, ...variables], env: sandboxEnv },
    signal,
    KEPT_WITHIN_MS,
  );
  if (code === 0) return;
  if (code === 73) throw sessionError('create', `Session '${id}' already exists`);
  throw exitOfEntering(code, folder) ?? sessionError('create', 'its state cannot be kept in the sandbox');
}

function sessionError(what: 'create' | 'delete', why: string): PortholeError {
  return new PortholeError('session_error', `session ${what} failed: ${why}`);
}

function checkEnvironment(env: Readonly<Record<string, string>>): void {
  let bytes = 0;
  for (const [name, value] of Object.entries(env)) {
    if (!NAME.test(name)) {
      throw new PortholeError(
        'invalid_request',
        `env: ${JSON.stringify(name.slice(0, 60))} is no name of a variable`,
        { remedy: 'use letters, digits and _.' },
      );
    }
    if (value.includes('\0')) {
      throw new PortholeError('invalid_request', `env.${name} must not contain a NUL character`);
    }
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value) + 2;
  }
  if (bytes > MAX_ENV_BYTES) {
    throw new PortholeError(
      'invalid_request',
      `env is ${bytes} bytes long: at most ${MAX_ENV_BYTES} are taken.`,
    );
  }
}

const DELETE = `${SESSION_FUNCTIONS}
_porthole_folder "$1"
[ -d "$_porthole_session" ] || exit 73
rm -rf -- "$_porthole_session" 2>/dev/null || exit 74
`;

/**
 * Deletes a session: its working directory and environment. Its background processes keep running.
 * @throws PortholeError `invalid_request`, `session_error` if it does not exist
 */
export async function deleteSession(
  { provider }: { readonly provider: Pick<Sandboxes, 'exec'> },
  sandboxId: string,
  id: string,
  signal?: AbortSignal,
): Promise<void> {
  checkSessionId(id);
  const { code } = await runToEnd(
    provider,
    sandboxId,
    { argv: ['bash', '-c', DELETE, 'bash', id] },
    signal,
    KEPT_WITHIN_MS,
  );
  if (code === 0) return;
  throw sessionError(
    'delete',
    code === 73 ? `Session '${id}' not found` : 'its state cannot be removed in the sandbox',
  );
}
