import { type FileStat, fileStat, listEnd, MAX_LISTED } from '#protocol/guest/files-protocol.ts';
import { jsonAnswer, linesAnswer } from '../processes/guest-answers.ts';
import { readAgain } from '#base/reads.ts';
import { type GuestProvider, query } from './guest-files.ts';
import { resolveWorkspacePath } from '#base/workspace-path.ts';

/** Metadata of one file of any type; links are not followed. Invalid UTF-8 in a name is U+FFFD. */
export interface FileEntry extends Omit<FileStat, 'size' | 'mtime'> {
  /** The last part of `path`. */
  readonly name: string;
  /** In bytes; null if it is not a regular file. */
  readonly size: number | null;
  /** To the second; null if RFC 3339 cannot represent it. */
  readonly mtime: Date | null;
}

export function fileEntryOf({ path, type, size, mtime, mode, target, metadata }: FileStat): FileEntry {
  return {
    path,
    name: path.slice(path.lastIndexOf('/') + 1),
    type,
    size: type === 'file' ? size : null,
    mtime: mtime >= FIRST_SECOND && mtime <= LAST_SECOND ? new Date(mtime * 1_000) : null,
    mode,
    ...(target !== undefined && { target }),
    ...(metadata !== undefined && { metadata }),
  };
}

/**
 * One entry of the workspace; of a symbolic link, the link itself.
 * @throws as `listWorkspaceFiles` does
 */
export async function statWorkspaceFile(
  { sandboxes }: { readonly sandboxes: GuestProvider },
  sandboxId: string,
  path: string,
  signal?: AbortSignal,
  hasMetadata = false,
): Promise<FileEntry> {
  const fields = { path: resolveWorkspacePath(path, 'path'), ...(hasMetadata && METADATA) };
  const call = { method: 'GET', path: `/v1/stat?${query(fields)}` } as const;
  return readAgain(
    async () =>
      fileEntryOf(await jsonAnswer(await sandboxes.callGuest(sandboxId, call, signal), sandboxId, fileStat)),
    signal,
  );
}

const METADATA = { metadata: 'true' } as const;

/** The seconds that RFC 3339 can represent: years 0000 to 9999. */
const FIRST_SECOND = -62_167_219_200;
const LAST_SECOND = 253_402_300_799;

/** Ten thousand names of usual length. */
const MAX_LISTED_CHARS = 4 * 1_048_576;
/** A folder on a slow disk takes seconds. */
const LISTING = { limit: Infinity, within: 60_000 };

interface ListOptions {
  /** 1: the folder's direct entries. */
  readonly depth: number;
  /** Further entries are left out, and `isCut` is true. */
  readonly most: number;
  /** Names of folders to leave out. @default none */
  readonly skipped?: readonly string[] | undefined;
  /** @default false */
  readonly hasMetadata?: boolean | undefined;
}

interface ListedFiles {
  readonly entries: readonly FileEntry[];
  readonly isCut: boolean;
}

/**
 * Entries below a folder of the workspace, by path. `isCut`: entries were left out. The
 * first malformed line ends the list.
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`,
 * `workspace_archive_read_error`, and what `exec` throws
 */
export async function listWorkspaceFiles(
  { sandboxes }: { readonly sandboxes: GuestProvider },
  sandboxId: string,
  path: string,
  { depth, most, skipped = [], hasMetadata = false }: ListOptions,
  signal?: AbortSignal,
): Promise<ListedFiles> {
  const folder = resolveWorkspacePath(path, 'path');
  const fields = new URLSearchParams({ path: folder, depth: String(depth), ...(hasMetadata && METADATA) });
  for (const name of skipped) fields.append('skip', name);
  const call = { method: 'GET', path: `/v1/list?${fields.toString()}` } as const;
  const limits = { item: fileStat, end: listEnd, most: MAX_LISTED, mostChars: MAX_LISTED_CHARS, ...LISTING };
  const { items, end } = await readAgain(
    async () => linesAnswer(await sandboxes.callGuest(sandboxId, call, signal), sandboxId, limits),
    signal,
  );
  const found = items
    .filter((stat) => stat.path.startsWith(`${folder}/`))
    .map((stat) => ({ stat, bytes: Buffer.from(stat.path) }));
  found.sort((one, other) => one.bytes.compare(other.bytes));
  return {
    entries: found.slice(0, most).map(({ stat }) => fileEntryOf(stat)),
    isCut: end?.truncated !== false || found.length > most,
  };
}
