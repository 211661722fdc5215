import * as z from 'zod/mini';
import { type FileStat, fileStat, listEnd } from '#guest/protocol/files-protocol.ts';
import { jsonOrUndefined, readAgain } from '../shared/reads.ts';
import { connectionLost, type GuestProvider } from './guest-files.ts';
import { resolveWorkspacePath } from './workspace-path.ts';

/** Metadata of one file of any type; links are not followed. Invalid UTF-8 in a name is U+FFFD. */
interface FileEntry extends Omit<FileStat, 'size' | 'mtime'> {
  /** The last part of `path`. */
  readonly name: string;
  /** In bytes; null if it is not a regular file. */
  readonly size: number | null;
  /** To the second; null if RFC 3339 cannot represent it. */
  readonly mtime: Date | null;
}

function fileEntryOf({ path, type, size, mtime, mode }: FileStat): FileEntry {
  return {
    path,
    name: path.slice(path.lastIndexOf('/') + 1),
    type,
    size: type === 'file' ? size : null,
    mtime: mtime >= FIRST_SECOND && mtime <= LAST_SECOND ? new Date(mtime * 1_000) : null,
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

interface ListedFiles {
  readonly entries: readonly FileEntry[];
  readonly isCut: boolean;
}

/**
 * Entries below a folder of the workspace, by path. `isCut`: entries were left out.
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`,
 * `workspace_archive_read_error`, and what `exec` throws
 */
export async function listWorkspaceFiles(
  deps: { readonly provider: GuestProvider },
  sandboxId: string,
  path: string,
  { depth, most, skipped }: ListOptions,
  signal?: AbortSignal,
): Promise<ListedFiles> {
  return filesOfListing(await readListing(deps, sandboxId, path, { depth, skipped }, signal), most);
}

/** Malformed lines are skipped. */
export function filesOfListing({ said, folder }: Listing, most: number): ListedFiles {
  const entries: { readonly stat: FileStat; readonly bytes: Buffer }[] = [];
  let isWhole = false;
  const listing = Buffer.from(said.buffer, said.byteOffset, said.byteLength);
  for (const line of listing.toString('utf8').split('\n')) {
    const value = jsonOrUndefined(line);
    const stat = z.safeParse(fileStat, value);
    if (!stat.success) {
      const end = z.safeParse(listEnd, value);
      if (end.success) isWhole = !end.data.truncated;
    } else if (stat.data.path.startsWith(`${folder}/`)) {
      entries.push({ stat: stat.data, bytes: Buffer.from(stat.data.path) });
    }
  }
  entries.sort((one, other) => one.bytes.compare(other.bytes));
  return {
    entries: entries.slice(0, most).map(({ stat }) => fileEntryOf(stat)),
    isCut: !isWhole || entries.length > most,
  };
}

/** @throws as `listWorkspaceFiles` does */
export async function readListing(
  { provider }: { readonly provider: GuestProvider },
  sandboxId: string,
  path: string,
  { depth, skipped = [] }: Pick<ListOptions, 'depth' | 'skipped'>,
  signal?: AbortSignal,
): Promise<Listing> {
  const folder = resolveWorkspacePath(path, 'path');
  const fields = new URLSearchParams({ path: folder, depth: String(depth) });
  for (const name of skipped) fields.append('skip', name);
  const call = { method: 'GET', path: `/v1/list?${fields.toString()}` } as const;
  const said = await readAgain(async () => {
    const answer = await provider.callGuest(sandboxId, call, signal);
    const parts: Buffer[] = [];
    let length = 0;
    try {
      for await (const part of answer as AsyncIterable<Buffer>) {
        parts.push(part);
        length += part.length;
        if (length > MOST_OUTPUT) break;
      }
    } catch (error) {
      throw connectionLost(sandboxId, error);
    }
    return Buffer.concat(parts);
  }, signal);
  return { said, folder };
}
