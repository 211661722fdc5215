import { type ErrorCode, PortholeError } from '../../base/errors.ts';
import { resolveWorkspacePath } from '../../base/workspace-path.ts';
import { errno } from './descriptors.ts';
import { WalkError } from './workspace.ts';

/** The purpose of a path: it decides the error for a path that does not exist. */
export type Purpose = 'read' | 'write' | 'folder' | 'entry';

export function failure(error: unknown, path: string, purpose: Purpose): PortholeError {
  if (error instanceof PortholeError) return error;
  const absolute = resolveWorkspacePath(path, 'path');
  if (error instanceof WalkError) return walkFailure(error, absolute, purpose);
  if (isDiskFull(error)) return diskFull(`write failed: ${absolute}`, error);
  const [code, what] = (
    {
      read: ['exec_transport_error', 'read failed'],
      entry: ['workspace_archive_write_error', 'change failed'],
      folder: ['workspace_archive_read_error', 'read failed'],
      write: ['workspace_archive_write_error', 'write failed'],
    } as const
  )[purpose];
  return new PortholeError(code, `${what}: ${absolute}: ${reasonOf(error)}`, { cause: error });
}

function walkFailure({ why }: WalkError, absolute: string, purpose: Purpose): PortholeError {
  if (purpose === 'write') {
    if (why === 'too many links')
      return new PortholeError('path_outside_workspace', 'path must resolve to a location within /workspace');
    return invalid(
      why === 'missing'
        ? `${absolute} is or has a link to a folder that is not there: make that folder, or delete the link.`
        : `${absolute} lies in a file: files lie in folders only.`,
    );
  }
  return notFound(absolute, purpose);
}

export function notFound(absolute: string, purpose: Purpose): PortholeError {
  return new PortholeError(
    'workspace_read_not_found',
    `${purpose === 'folder' ? 'Folder' : 'File'} not found: ${absolute}`,
  );
}

export function invalid(what: string): PortholeError {
  return new PortholeError('invalid_request', what);
}

export const isFolder = (absolute: string) => invalid(`${absolute} is a directory: name a file in it.`);

function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(errno(error));
}

function diskFull(what: string, cause: unknown): PortholeError {
  return new PortholeError(
    'disk_full',
    `${what}: No space left on device. Delete files in the sandbox, and try again.`,
    { cause },
  );
}

/** The system's message: `No space left on device`. */
export function reasonOf(error: unknown): string {
  const { message = String(error) } = (error ?? {}) as { readonly message?: string };
  // Of a system call: `ENOSPC: no space left on device, write`. The rest may name a descriptor.
  const reason = errno(error) === '' ? message : (/^[A-Z0-9]+: (.*?)(?:, |$)/.exec(message)?.[1] ?? message);
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1, 200)}`;
}

/**
 * For failures during a transfer of contents: converts system errors, and returns others unchanged.
 */
export function systemFailure(error: unknown, code: ErrorCode, what: string): unknown {
  if (isDiskFull(error)) return diskFull(what, error);
  return errno(error) === ''
    ? error
    : new PortholeError(code, `${what}: ${reasonOf(error)}`, { cause: error });
}
