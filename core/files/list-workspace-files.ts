import type { FileStat } from '#guest/protocol/files-protocol.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import { readAgain } from '../shared/reads.ts';
import { listInGuest, readGuestList } from './guest-files.ts';
import { resolveWorkspacePath } from './workspace-path.ts';

/** Metadata of one file of any type; links are not followed. */
interface FileEntry {
  /** Absolute. Invalid UTF-8 in a name is U+FFFD, here and below. */
  readonly path: string;
  /** The last part of `path`. */
  readonly name: string;
  readonly type: 'file' | 'directory' | 'symlink' | 'other';
  /** In bytes; undefined if it is not a regular file. */
  readonly size: number | undefined;
  /** To the second; undefined if RFC 3339 cannot represent it. */
  readonly mtime: Date | undefined;
  /** Permissions, with setuid, setgid and sticky: 0..0o7777. */
  readonly mode: number;
}

function fileEntryOf({ path, type, size, mtime, mode }: FileStat): FileEntry {
  return {
    path,
    name: path.slice(path.lastIndexOf('/') + 1),
    type,
    size: type === 'file' ? size : undefined,
    mtime: mtime >= FIRST_SECOND && mtime <= LAST_SECOND ? new Date(mtime * 1_000) : undefined,
    mode,
  };
}

/** The seconds that RFC 3339 can represent: years 0000 to 9999. */
const FIRST_SECOND = -62_167_219_200;
const LAST_SECOND = 253_402_300_799;

/** In bytes: ten thousand names of usual length. */
const MOST_OUTPUT = 4 * 1_048_576;
interface ListOptions {
  /** 1: the folder's direct entries. */
  readonly depth: number;
  /** Further entries are left out, and `isCut` is true. */
  readonly most: number;
  /** Names of folders to leave out. @default none */
  readonly skipped?: readonly string[] | undefined;
}

/** The raw listing of a folder: not parsed yet, because parsing is slow for many files. */
export interface Listing {
  readonly said: Uint8Array;
  readonly folder: string;
}

/**
 * Entries below a folder of the workspace, by path. `isCut`: entries were left out.
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`,
 * `workspace_archive_read_error`, and what `exec` throws
 */
export async function listWorkspaceFiles(
  deps: { readonly provider: Pick<Sandboxes, 'callGuest'> },
  sandboxId: string,
  path: string,
  { depth, most, skipped }: ListOptions,
  signal?: AbortSignal,
): Promise<{ readonly entries: readonly FileEntry[]; readonly isCut: boolean }> {
  return filesOfListing(await readListing(deps, sandboxId, path, { depth, skipped }, signal), most);
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
  { provider }: { readonly provider: Pick<Sandboxes, 'callGuest'> },
  sandboxId: string,
  path: string,
  { depth, skipped }: Pick<ListOptions, 'depth' | 'skipped'>,
  signal?: AbortSignal,
): Promise<Listing> {
  const folder = resolveWorkspacePath(path, 'path');
  const { listing } = await readAgain(
    () => listInGuest(provider, sandboxId, folder, { depth, skipped, most: MOST_OUTPUT }, signal),
    signal,
  );
  return { said: listing, folder };
}
