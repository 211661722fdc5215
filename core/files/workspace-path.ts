import { posix } from 'node:path';
import { PortholeError } from '../errors.ts';

const WORKSPACE = '/workspace';

/** Linux's own limits, in bytes: of a name, and of a path with the zero byte that ends it. */
const MAX_NAME = 255;
const MAX_PATH = 4_095;

/**
 * The absolute path that a caller's path means: relative ones count from /workspace. Only the text
 * is judged here; symbolic links are resolved in the sandbox, at the moment of use.
 * @param what how the message names it: `path` or `cwd`
 * @throws PortholeError `path_outside_workspace`, `invalid_request` for a NUL, and for what is
 * longer than any file system takes
 */
export function resolveWorkspacePath(path: string, what: 'path' | 'cwd'): string {
  if (path.includes('\0'))
    throw new PortholeError('invalid_request', `${what} must not contain a NUL character`);
  const resolved = posix.resolve(WORKSPACE, path);
  if (resolved === WORKSPACE || resolved.startsWith(`${WORKSPACE}/`)) return short(resolved, what);
  throw new PortholeError('path_outside_workspace', `${what} must resolve to a location within /workspace`);
}

/** What is left of a resolved path below the workspace; '' is the workspace itself. */
export function belowWorkspace(resolved: string): string {
  return resolved.slice(WORKSPACE.length + 1);
}

function short(path: string, what: 'path' | 'cwd'): string {
  if (Buffer.byteLength(path) > MAX_PATH) {
    throw new PortholeError('invalid_request', `${what} is longer than ${MAX_PATH} bytes`);
  }
  if (path.split('/').some((name) => Buffer.byteLength(name) > MAX_NAME)) {
    throw new PortholeError('invalid_request', `${what} has a part that is longer than ${MAX_NAME} bytes`);
  }
  return path;
}
