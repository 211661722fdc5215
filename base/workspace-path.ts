import { posix } from 'node:path';
import { PortholeError } from './errors.ts';

const WORKSPACE = '/workspace';

/** Linux's limits, in bytes: NAME_MAX, and PATH_MAX without the terminating NUL. */
const MAX_NAME = 255;
const MAX_PATH = 4_095;

/**
 * Resolves a caller's path: relative paths are relative to /workspace. Checks only the text; the
 * sandbox resolves symbolic links at the moment of use (TOCTOU).
 * @param what the field name in the message: `path` or `cwd`
 * @throws PortholeError `path_outside_workspace`, `invalid_request` for a NUL, and for a path
 * longer than any file system accepts
 */
export function resolveWorkspacePath(path: string, what: 'path' | 'cwd'): string {
  if (path.includes('\0'))
    throw new PortholeError('invalid_request', `${what} must not contain a NUL character`);
  const resolved = posix.resolve(WORKSPACE, path);
  if (resolved === WORKSPACE || resolved.startsWith(`${WORKSPACE}/`)) return short(resolved, what);
  throw new PortholeError('path_outside_workspace', `${what} must resolve to a location within /workspace`);
}

/** A resolved path relative to the workspace; '' is the workspace itself. */
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
