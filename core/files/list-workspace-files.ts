import { type FileStat, fileStat, listEnd, MAX_LISTED } from '#protocol/guest/files-protocol.ts';
import { piecesOfAnswer, readLine, turnsOf } from '../processes/guest-answers.ts';
import { readAgain } from '#base/reads.ts';
import type { GuestProvider } from './guest-files.ts';
import { resolveWorkspacePath } from '#base/workspace-path.ts';

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
const MAX_OUTPUT_BYTES = 4 * 1_048_576;
/** A folder on a slow disk takes seconds. */
const LISTING = { limit: Infinity, within: 60_000 };

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
  const listing = await readListing(deps, sandboxId, path, { depth, skipped }, signal);
  const read = new ListingReader(listing);
  const pause = turnsOf(sandboxId);
  while (read.next()) {
    const turn = pause();
    if (turn !== undefined) await turn;
  }
  return read.files(most);
}

/** The same without a pause: for a thread. */
export function filesOfListing(listing: Listing, most: number): ListedFiles {
  const read = new ListingReader(listing);
  while (read.next());
  return read.files(most);
}

const LINES = { item: fileStat, end: listEnd };

/** Reads a listing line by line. The first malformed line, or one too many, ends it. */
class ListingReader {
  readonly #text: string;
  readonly #folder: string;
  readonly #entries: { readonly stat: FileStat; readonly bytes: Buffer }[] = [];
  #at = 0;
  #count = 0;
  #isWhole = false;

  constructor({ said, folder }: Listing) {
    this.#text = Buffer.from(said.buffer, said.byteOffset, said.byteLength).toString('utf8');
    this.#folder = `${folder}/`;
  }

  /** Reads one line; false: that was the last. */
  next(): boolean {
    const end = this.#text.indexOf('\n', this.#at);
    if (end < 0) return false;
    const read = readLine(this.#text.slice(this.#at, end), LINES);
    this.#at = end + 1;
    if (read !== undefined && 'end' in read) this.#isWhole = !read.end.truncated;
    if (read === undefined || 'end' in read || this.#count === MAX_LISTED) return false;
    this.#count += 1;
    const { item: stat } = read;
    if (stat.path.startsWith(this.#folder)) this.#entries.push({ stat, bytes: Buffer.from(stat.path) });
    return true;
  }

  /** By path, in bytes. */
  files(most: number): ListedFiles {
    const entries = this.#entries.toSorted((one, other) => one.bytes.compare(other.bytes));
    return {
      entries: entries.slice(0, most).map(({ stat }) => fileEntryOf(stat)),
      isCut: !this.#isWhole || entries.length > most,
    };
  }
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
    for await (const part of piecesOfAnswer(answer, sandboxId, LISTING)) {
      parts.push(part);
      length += part.length;
      // What was read is a part of the listing.
      if (length > MAX_OUTPUT_BYTES) break;
    }
    return Buffer.concat(parts);
  }, signal);
  return { said, folder };
}
