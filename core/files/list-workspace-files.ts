import type { FileStat } from '#guest/protocol/files-protocol.ts';
import type { SandboxProvider } from '../sandboxes/sandbox-provider.ts';
import { readAgain } from '../shared/reads.ts';
import { listInGuest, readGuestList } from './guest-files.ts';
import { resolveWorkspacePath } from './workspace-path.ts';

/** What is known of one file, whatever its kind; links are not followed. */
interface FileEntry {
  /** Absolute. Bytes of a name that are no UTF-8 are U+FFFD, here and below. */
  readonly path: string;
  /** Its last part. */
  readonly name: string;
  readonly type: 'file' | 'directory' | 'symlink' | 'other';
  /** In bytes, of a file. */
  readonly size: number | undefined;
  /** To the second; undefined where RFC 3339 has no word for it. */
  readonly mtime: Date | undefined;
  /** Permissions, and the three bits above them: 0..0o7777. */
  readonly mode: number;
}

/** What the guest says of an entry. */
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

/** The seconds that RFC 3339 can tell: those of the years 0000 to 9999. */
const FIRST_SECOND = -62_167_219_200;
const LAST_SECOND = 253_402_300_799;

/** In bytes: ten thousand names of usual length. */
const MOST_OUTPUT = 4 * 1_048_576;
interface ListOptions {
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
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`,
 * `workspace_archive_read_error`, and what `exec` refuses
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
