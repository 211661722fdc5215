import type { Readable } from 'node:stream';
import { PortholeError } from '../errors.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import { resolveWorkspacePath } from './workspace-path.ts';
import { tarOfGuest } from './guest-files.ts';
import { readAgain } from '../shared/reads.ts';

export interface PersistOptions {
  /** A folder of the workspace. @default the workspace itself */
  readonly path?: string;
  /** Paths below the folder to leave out. */
  readonly excludes?: readonly string[];
  /**
   * Whether each name of a file with several hard links has the contents. Otherwise only the first
   * has them, and the others are hard links. @default false
   */
  readonly copiesHardLinks?: boolean;
}

/** A folder as a tar, and how much is missing from it. */
export interface PersistedFolder {
  /** In tar format. */
  readonly tar: Readable;
  /**
   * How many files and folders are missing because the sandbox's own user may not read them. Valid
   * after the tar has ended. Its last entry names them.
   */
  readonly leftOut: () => number;
}

/**
 * A folder of the workspace as a plain tar stream. Resolves at the first byte. A later failure
 * fails the stream, so a part is never taken for the whole.
 * @throws PortholeError `invalid_request`, `path_outside_workspace`, `workspace_read_not_found`,
 * `workspace_archive_read_error`, and what `exec` throws
 */
export async function persistWorkspace(
  { provider }: { readonly provider: Pick<Sandboxes, 'callGuest'> },
  sandboxId: string,
  { path = '/workspace', excludes = [], copiesHardLinks = false }: PersistOptions = {},
  signal?: AbortSignal,
): Promise<PersistedFolder> {
  const folder = resolveWorkspacePath(path, 'path');
  for (const exclude of excludes) checkExclude(exclude);
  const options = { excludes, copiesHardLinks };
  // Retry is safe until the first byte: the caller has received nothing.
  return readAgain(() => tarOfGuest(provider, sandboxId, folder, options, signal), signal);
}

/** @throws PortholeError `invalid_request` for an invalid path */
function checkExclude(path: string): void {
  if (path.includes('..')) throw new PortholeError('invalid_request', 'exclude paths must not contain ".."');
  if (path.includes('\0')) {
    throw new PortholeError('invalid_request', 'exclude paths must not contain a NUL character');
  }
}
