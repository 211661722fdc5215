import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { type FileEntry, fileEntryOf } from '../rules/file-listing.ts';
import { resolveWorkspacePath } from '../rules/workspace-path.ts';
import { listInGuest, readGuestList } from './guest-files.ts';
import { readAgain } from './read-again.ts';

/** In bytes: ten thousand names of usual length. */
const MOST_OUTPUT = 4 * 1_048_576;
export interface ListOptions {
  /** 1: what is in the folder itself. */
  readonly depth: number;
  /** Entries beyond are left out, and it is said so. */
  readonly most: number;
}

/** What the sandbox said of a folder: not parsed yet, because that takes a while for many files. */
export interface Listing {
  readonly said: Uint8Array;
  readonly folder: string;
}

/**
 * What is below a folder of the workspace, by path. `isCut`: there is more.
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`, `workspace_archive_read_error`, and what `exec` refuses
 */
export async function listWorkspaceFiles(
  deps: { readonly provider: Pick<SandboxProvider, 'callGuest'> },
  sandboxId: string,
  path: string,
  { depth, most }: ListOptions,
  signal?: AbortSignal,
): Promise<{ readonly entries: readonly FileEntry[]; readonly isCut: boolean }> {
  return filesOfListing(await readListing(deps, sandboxId, path, { depth }, signal), most);
}

export function filesOfListing(
  { said, folder }: Listing,
  most: number,
): { readonly entries: readonly FileEntry[]; readonly isCut: boolean } {
  const bytes = Buffer.from(said.buffer, said.byteOffset, said.byteLength);
  const { entries, isWhole } = readGuestList(bytes, folder);
  return { entries: entries.slice(0, most).map(fileEntryOf), isCut: !isWhole || entries.length > most };
}

/** @throws as `listWorkspaceFiles` does */
export async function readListing(
  { provider }: { readonly provider: Pick<SandboxProvider, 'callGuest'> },
  sandboxId: string,
  path: string,
  { depth }: Pick<ListOptions, 'depth'>,
  signal?: AbortSignal,
): Promise<Listing> {
  const folder = resolveWorkspacePath(path, 'path');
  const { listing } = await readAgain(
    () => listInGuest(provider, sandboxId, folder, depth, MOST_OUTPUT, signal),
    signal,
  );
  return { said: listing, folder };
}
