import { PortholeError } from '../../errors.ts';
import type { SandboxProvider } from '../../ports/sandbox-provider.ts';
import { checkSessionId } from '../../rules/session-id.ts';
import { resolveWorkspacePath } from '../../rules/workspace-path.ts';
import { runToEnd } from '../run-to-end.ts';
import { ENTER_WORKSPACE, exitOfEntering } from '../enter-workspace.ts';
import { SESSION_FUNCTIONS } from './session-script.ts';

export interface NewSession {
  readonly id: string;
  /** Within /workspace, its default. */
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The sandbox's own variables, beneath those of the session. */
  readonly sandboxEnv?: Readonly<Record<string, string>> | undefined;
}

/** `$1` is the id, `$2` the folder. The environment follows as words: as the shell's own it would have a say in what the shell does. */
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

/** The longest that keeping a session's state, or removing it, may take, in milliseconds: in its place may be something that never ends. */
export const KEPT_WITHIN_MS = 10_000;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Linux takes no more than 128 KiB for one variable, and some MiB for all. */
const MAX_ENV_BYTES = 131_072;

/**
 * Begins a session with a working directory and an environment of its own.
 * @throws PortholeError `invalid_request`, `path_outside_workspace`; `session_error` where there is one of that id, or it cannot be made
 */
export async function createSession(
  { provider }: { readonly provider: Pick<SandboxProvider, 'exec'> },
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

export function sessionError(what: 'create' | 'delete', why: string): PortholeError {
  return new PortholeError('session_error', `session ${what} failed: ${why}`);
}

function checkEnvironment(env: Readonly<Record<string, string>>): void {
  let bytes = 0;
  for (const [name, value] of Object.entries(env)) {
    if (!NAME.test(name)) {
      throw new PortholeError(
        'invalid_request',
        `env: ${JSON.stringify(name.slice(0, 60))} is no name of a variable: use letters, digits and _.`,
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
