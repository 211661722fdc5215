import { PortholeError } from '#base/errors.ts';
import { resolveWorkspacePath } from '#base/workspace-path.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import { exitOfEntering, runToEnd } from './collect-command.ts';

/** The bridge's form of a session id. */
const SESSION_ID = /^(?!.*\.\.)[a-zA-Z0-9._-]{1,128}$/;

/** @throws PortholeError `invalid_request`, worded as the sandbox bridge does */
export function checkSessionId(id: string): string {
  if (SESSION_ID.test(id)) return id;
  throw new PortholeError('invalid_request', 'Invalid session ID format');
}

interface NewSession {
  readonly id: string;
  /** Within /workspace, its default. */
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The sandbox's own variables, beneath those of the session. */
  readonly sandboxEnv?: Readonly<Record<string, string>> | undefined;
}

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
  { sandboxes }: { readonly sandboxes: Pick<Sandboxes, 'exec'> },
  sandboxId: string,
  { id, cwd, env = {}, sandboxEnv }: NewSession,
  signal?: AbortSignal,
): Promise<void> {
  checkSessionId(id);
  checkEnvironment(env);
  const folder = cwd === undefined ? '' : resolveWorkspacePath(cwd, 'cwd');
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const { code } = await runToEnd(
    sandboxes,
    sandboxId,
    { script: 'sessions', argv: ['bash', 'create', id, folder, ...variables], env: sandboxEnv },
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
        `env: ${JSON.stringify(name.slice(0, 60))} is not a variable name`,
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
      `env is ${bytes} bytes long; the maximum is ${MAX_ENV_BYTES}.`,
    );
  }
}

/**
 * Deletes a session: its working directory and environment. Its background processes keep running.
 * @throws PortholeError `invalid_request`, `session_error` if it does not exist
 */
export async function deleteSession(
  { sandboxes }: { readonly sandboxes: Pick<Sandboxes, 'exec'> },
  sandboxId: string,
  id: string,
  signal?: AbortSignal,
): Promise<void> {
  checkSessionId(id);
  const { code } = await runToEnd(
    sandboxes,
    sandboxId,
    { script: 'sessions', argv: ['bash', 'delete', id] },
    signal,
    KEPT_WITHIN_MS,
  );
  if (code === 0) return;
  throw sessionError(
    'delete',
    code === 73 ? `Session '${id}' not found` : 'its state cannot be removed in the sandbox',
  );
}
