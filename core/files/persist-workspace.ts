import type { Readable } from 'node:stream';
import { PortholeError } from '../errors.ts';
import type { SandboxProvider } from '../sandboxes/sandbox-provider.ts';
import { resolveWorkspacePath } from './workspace-path.ts';
import { tarOfGuest } from './guest-files.ts';
import { readAgain } from '../shared/reads.ts';

export interface PersistOptions {
  /** A folder of the workspace. @default the workspace itself */
  readonly path?: string;
  /** Paths below the folder to leave out. */
  readonly excludes?: readonly string[];
  /**
   * Whether each name of a file with several has the contents, otherwise all but the first are hard
   * links. @default false
   */
  readonly copiesHardLinks?: boolean;
}

/** A folder as a tar, and what is missing in it. */
export interface PersistedFolder {
  /** As tar makes it. */
  readonly tar: Readable;
  /**
   * How many files and folders are not in it, because the sandbox's own user may not read them; to
   * be asked once the tar has ended. Its last entry names them.
   */
  readonly leftOut: () => number;
}

/**
 * A folder of the workspace as a plain tar, as it comes. Resolves once it begins. What fails later
 * makes the stream fail, so that a part is never taken for the whole.
 * @throws PortholeError `invalid_request`, `path_outside_workspace`, `workspace_read_not_found`,
 * `workspace_archive_read_error`, and what `exec` refuses
 */
export async function persistWorkspace(
  { provider }: { readonly provider: Pick<SandboxProvider, 'callGuest'> },
  sandboxId: string,
  { path = '/workspace', excludes = [], copiesHardLinks = false }: PersistOptions = {},
  signal?: AbortSignal,
): Promise<PersistedFolder> {
  const folder = resolveWorkspacePath(path, 'path');
  for (const exclude of excludes) checkExclude(exclude);
  const options = { excludes, copiesHardLinks };
  // Until the first byte nothing has been handed on.
  return readAgain(() => tarOfGuest(provider, sandboxId, folder, options, signal), signal);
}

/** @throws PortholeError `invalid_request` for a path that is none */
function checkExclude(path: string): void {
  if (path.includes('..')) throw new PortholeError('invalid_request', 'exclude paths must not contain ".."');
  if (path.includes('\0')) {
    throw new PortholeError('invalid_request', 'exclude paths must not contain a NUL character');
  }
}
