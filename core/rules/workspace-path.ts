import { posix } from 'node:path';
import { PortholeError } from '../errors.ts';

const WORKSPACE = '/workspace';

/**
 * The absolute path that a caller's path means: relative ones count from /workspace. Only the text is judged here; symbolic links are
 * resolved in the sandbox, at the moment of use.
 * @param what how the message names it: `path` or `cwd`
 * @throws PortholeError `path_outside_workspace`, `invalid_request` for a NUL
 */
export function resolveWorkspacePath(path: string, what: 'path' | 'cwd'): string {
  if (path.includes('\0'))
    throw new PortholeError('invalid_request', `${what} must not contain a NUL character`);
  const resolved = posix.resolve(WORKSPACE, path);
  if (resolved === WORKSPACE || resolved.startsWith(`${WORKSPACE}/`)) return resolved;
  throw new PortholeError('path_outside_workspace', `${what} must resolve to a location within /workspace`);
}
