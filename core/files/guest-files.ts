/**
 * Files of a sandbox, through its guest. Its answers are bounded and validated: any code may answer
 * in its place.
 */
import { finished, Readable } from 'node:stream';
import * as z from 'zod/mini';
import {
  type FileStat,
  fileStat,
  listEnd,
  type SearchQuery,
  textMatch,
  type TextMatch,
  UNREADABLE_TRAILER,
  UPLOAD,
  unpacked,
  type Unpacked,
  watchEvent,
  type WatchEvent,
  MAX_UPLOAD_FRAME,
} from '#guest/protocol/files-protocol.ts';
import { PortholeError } from '../errors.ts';
import type { GuestCall, Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { Remembered } from '../tar/archive-tree.ts';
import { jsonAnswer, textAnswer } from '../processes/guest-answers.ts';
import { serverSentEvents } from '../shared/server-sent-events.ts';

/** A provider with or without guests. */
export type GuestProvider = Pick<Sandboxes, 'callGuest'>;

/** Timeout to move 100,000 files of an archive into place, in ms; a busy disk needs minutes. */
const UNPACKS_WITHIN_MS = 600_000;

const query = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString();

function connectionLost(sandboxId: string, cause: unknown): PortholeError {
  if (cause instanceof PortholeError) return cause;
  return new PortholeError(
    'exec_transport_error',
    `Sandbox ${sandboxId}: the connection to its guest was lost.`,
    { remedy: 'Try again.', cause },
  );
}

export interface GuestFile {
  /** Fails, with the error from `lost`, unless all announced bytes arrive. */
  readonly bytes: Readable;
  readonly size: number;
  readonly version: string;
  lost(cause: unknown): PortholeError;
}

/** Opens a file at an offset. */
export async function openGuestFile(
  provider: GuestProvider,
  sandboxId: string,
  absolute: string,
  from: number,
  signal?: AbortSignal,
): Promise<GuestFile> {
  const answer = await provider.callGuest(
    sandboxId,
    {
      method: 'GET',
      path: `/v1/files?${query({ path: absolute })}`,
      ...(from > 0 && { headers: { range: `bytes=${from}-` } }),
    },
    signal,
  );
  const { 'content-length': length = '', etag } = answer.headers;
  const lost = (cause: unknown) => connectionLost(sandboxId, cause);
  if (!/^\d{1,15}$/.test(length) || answer.statusCode !== (from > 0 ? 206 : 200) || etag === undefined) {
    answer.destroy();
    throw lost(new Error('its guest breaks the protocol'));
  }
  return { bytes: answer, size: from + Number(length), version: etag, lost };
}

/** Sends contents to the guest. If both fail, throws the error of the contents. */
async function send<T>(
  provider: GuestProvider,
  sandboxId: string,
  call: Omit<GuestCall, 'body'>,
  content: Readable,
  schema: z.ZodMiniType<T>,
  signal?: AbortSignal,
): Promise<T> {
  let failed: Error | undefined;
  const keep = (error: Error) => (failed = error);
  content.once('error', keep);
  try {
    signal?.throwIfAborted();
    const answer = await provider.callGuest(
      sandboxId,
      { ...call, body: content, headers: { 'content-type': 'application/octet-stream' } },
      signal,
    );
    return await jsonAnswer(answer, sandboxId, schema);
  } catch (error) {
    signal?.throwIfAborted();
    throw failed ?? error;
  } finally {
    content.destroy();
  }
}

const done = z.object({ ok: z.literal(true) });

export interface WriteOptions {
  readonly signal?: AbortSignal | undefined;
  /** The guest keeps what was changed under this id: 32 hex digits. */
  readonly detailId?: string | undefined;
}

export async function writeGuestFile(
  provider: GuestProvider,
  sandboxId: string,
  absolute: string,
  content: Readable,
  { signal, detailId }: WriteOptions = {},
): Promise<void> {
  const fields = { path: absolute, ...(detailId !== undefined && { detail_id: detailId }) };
  const call = { method: 'PUT', path: `/v1/files?${query(fields)}` } as const;
  await send(provider, sandboxId, call, content, done, signal);
}

/**
 * Unpacks a plain tar over the workspace: existing files are replaced, others stay. The whole tar
 * is validated before anything is unpacked. Returns the symbolic links that lead out of the
 * workspace: they are created unchanged, and never followed; their targets may not exist.
 * @throws PortholeError `invalid_request` for a rejected tar, `path_outside_workspace` if it would
 * follow a link out of the workspace, `workspace_archive_write_error`, or the stream's own error
 */
export async function hydrateWorkspace(
  provider: GuestProvider,
  sandboxId: string,
  content: Readable,
  remembers: Remembered,
  signal?: AbortSignal,
): Promise<Unpacked['outside_links']> {
  const path = `/v1/tar?${query({ remembers })}`;
  const call = { method: 'PUT', path, answerWithin: UNPACKS_WITHIN_MS } as const;
  return (await send(provider, sandboxId, call, content, unpacked, signal)).outside_links;
}

/** @param files each with its path relative to the folder */
export async function uploadToGuest(
  provider: GuestProvider,
  sandboxId: string,
  folder: string,
  files: AsyncIterable<{ readonly name: string; readonly stream: AsyncIterable<Buffer> }>,
  signal?: AbortSignal,
): Promise<void> {
  const path = `/v1/upload?${query({ path: folder })}`;
  const call = { method: 'POST', path, answerWithin: UNPACKS_WITHIN_MS } as const;
  await send(provider, sandboxId, call, Readable.from(frames(files), { objectMode: false }), done, signal);
}

async function* frames(
  files: AsyncIterable<{ readonly name: string; readonly stream: AsyncIterable<Buffer> }>,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const { name, stream } of files) {
    const bytes = Buffer.from(name);
    yield Buffer.concat([frameHead(UPLOAD.file, bytes.length), bytes]);
    for await (const chunk of stream) {
      for (let at = 0; at < chunk.length; at += MAX_UPLOAD_FRAME) {
        const piece = chunk.subarray(at, at + MAX_UPLOAD_FRAME);
        yield frameHead(UPLOAD.contents, piece.length);
        yield piece;
      }
    }
  }
  yield frameHead(UPLOAD.end, 0);
}

function frameHead(type: number, length: number): Buffer {
  const head = Buffer.alloc(5);
  head[0] = type;
  head.writeUInt32BE(length, 1);
  return head;
}

export interface GuestTarOptions {
  readonly excludes: readonly string[];
  readonly copiesHardLinks: boolean;
}

/** Read-ahead of a tar, in pieces of 64 KiB. */
const TAR_AHEAD = 8;

/** A folder as a tar. `leftOut`, valid at its end: how many files are missing from it. */
export async function tarOfGuest(
  provider: GuestProvider,
  sandboxId: string,
  folder: string,
  { excludes, copiesHardLinks }: GuestTarOptions,
  signal?: AbortSignal,
): Promise<{ readonly tar: Readable; readonly leftOut: () => number }> {
  const fields = new URLSearchParams({ path: folder, ...(copiesHardLinks && { hard_links: 'copy' }) });
  for (const exclude of excludes) fields.append('exclude', exclude);
  const answer = await provider.callGuest(
    sandboxId,
    { method: 'GET', path: `/v1/tar?${fields.toString()}` },
    signal,
  );
  const tar = new Readable({
    // A byte stream would copy buffered pieces into one.
    objectMode: true,
    highWaterMark: TAR_AHEAD,
    read: () => void answer.resume(),
    destroy: (error, done) => {
      answer.destroy();
      done(error);
    },
  });
  answer.on('data', (piece: Buffer) => {
    if (!tar.push(piece)) answer.pause();
  });
  finished(answer, (error) => {
    if (error) tar.destroy(connectionLost(sandboxId, error));
    else tar.push(null);
  });
  // Without a listener an error would crash the process; the reader gets it as well.
  tar.on('error', () => undefined);
  const leftOut = () => {
    const said = answer.trailers[UNREADABLE_TRAILER] ?? '';
    return /^\d{1,9}$/.test(said) ? Number(said) : 0;
  };
  return { tar, leftOut };
}

export interface GuestListOptions {
  readonly depth: number;
  /** Names of folders to leave out. */
  readonly skipped?: readonly string[] | undefined;
  /** Bytes of the listing. */
  readonly most: number;
}

/** The lines of a listing, up to `most` bytes. */
export async function listInGuest(
  provider: GuestProvider,
  sandboxId: string,
  folder: string,
  { depth, skipped = [], most }: GuestListOptions,
  signal?: AbortSignal,
): Promise<{ readonly listing: Buffer; readonly isTooMuch: boolean }> {
  const fields = new URLSearchParams({ path: folder, depth: String(depth) });
  for (const name of skipped) fields.append('skip', name);
  const path = `/v1/list?${fields.toString()}`;
  const answer = await provider.callGuest(sandboxId, { method: 'GET', path }, signal);
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of answer as AsyncIterable<Buffer>) {
      parts.push(part);
      length += part.length;
      if (length > most) break;
    }
  } catch (error) {
    throw connectionLost(sandboxId, error);
  }
  return { listing: Buffer.concat(parts), isTooMuch: length > most };
}

/** Entries below a folder, from the lines of a listing, by path. Malformed lines are skipped. */
export function readGuestList(
  listing: Buffer,
  folder: string,
): { readonly entries: readonly FileStat[]; readonly isWhole: boolean } {
  const entries: { readonly stat: FileStat; readonly bytes: Buffer }[] = [];
  let isWhole = false;
  for (const line of listing.toString('utf8').split('\n')) {
    const value = jsonOrUndefined(line);
    const stat = z.safeParse(fileStat, value);
    if (!stat.success) {
      const end = z.safeParse(listEnd, value);
      if (end.success) isWhole = !end.data.truncated;
    } else if (stat.data.path.startsWith(folder === '/' ? folder : `${folder}/`)) {
      entries.push({ stat: stat.data, bytes: Buffer.from(stat.data.path) });
    }
  }
  entries.sort((one, other) => one.bytes.compare(other.bytes));
  return { entries: entries.map(({ stat }) => stat), isWhole };
}

/** Bytes of an answer to a search, and its time in ms, which is above the guest's own limit. */
const MOST_FOUND = 4 * 1_048_576;
const SEARCHES_WITHIN_MS = 30_000;

/**
 * Lines of files below a folder that contain a text or match a pattern; files, if there is neither.
 * The guest evaluates pattern and glob: neither can block the host. `isCut`: there may be more.
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`,
 * `forbidden`, `workspace_archive_read_error`
 */
export async function searchWorkspace(
  provider: GuestProvider,
  sandboxId: string,
  asked: {
    readonly folder: string;
    readonly query: Partial<Record<keyof SearchQuery, string | undefined>>;
    readonly skipped: readonly string[];
    readonly most: number;
  },
  signal?: AbortSignal,
): Promise<{ readonly matches: readonly TextMatch[]; readonly isCut: boolean }> {
  const { folder, query, skipped, most } = asked;
  const fields = new URLSearchParams({ path: folder, most: String(most) });
  for (const [name, value] of Object.entries(query)) if (value !== undefined) fields.append(name, value);
  for (const name of skipped) fields.append('skip', name);
  const call = {
    method: 'GET',
    path: `/v1/search?${fields.toString()}`,
    answerWithin: SEARCHES_WITHIN_MS,
  } as const;
  const answer = await provider.callGuest(sandboxId, call, signal);
  const limits = { limit: MOST_FOUND, within: SEARCHES_WITHIN_MS };
  const matches: TextMatch[] = [];
  let isCut = true;
  for (const line of (await textAnswer(answer, sandboxId, limits)).split('\n')) {
    const value = jsonOrUndefined(line);
    const match = z.safeParse(textMatch, value);
    const end = z.safeParse(listEnd, value);
    if (end.success) isCut = end.data.truncated;
    else if (match.success && match.data.path.startsWith(`${folder}/`)) matches.push(match.data);
  }
  return { matches: matches.slice(0, most), isCut };
}

/** @throws as `deleteWorkspaceFile` does */
export async function makeWorkspaceFolder(
  provider: GuestProvider,
  sandboxId: string,
  path: string,
  signal?: AbortSignal,
): Promise<void> {
  const call = { method: 'POST', path: '/v1/mkdir', body: { path } } as const;
  await jsonAnswer(await provider.callGuest(sandboxId, call, signal), sandboxId, done);
}

function jsonOrUndefined(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/**
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`,
 * `forbidden`, `workspace_archive_write_error`
 */
export async function deleteWorkspaceFile(
  provider: GuestProvider,
  sandboxId: string,
  absolute: string,
  recursive: boolean,
  signal?: AbortSignal,
): Promise<void> {
  const path = `/v1/files?${query({ path: absolute, recursive: String(recursive) })}`;
  const call = { method: 'DELETE', path, answerWithin: UNPACKS_WITHIN_MS } as const;
  await jsonAnswer(await provider.callGuest(sandboxId, call, signal), sandboxId, done);
}

/** @throws as `deleteWorkspaceFile` does, and `file_exists` */
export async function moveWorkspaceFile(
  provider: GuestProvider,
  sandboxId: string,
  body: { readonly from: string; readonly to: string; readonly overwrite: boolean },
  signal?: AbortSignal,
): Promise<void> {
  const call = { method: 'POST', path: '/v1/move', body } as const;
  await jsonAnswer(await provider.callGuest(sandboxId, call, signal), sandboxId, done);
}

/**
 * Changes below a folder; yields undefined periodically without changes. Ends with the folder.
 * @param skipped names of folders to leave unwatched, at any depth
 */
export async function* watchWorkspace(
  provider: GuestProvider,
  sandboxId: string,
  {
    folder,
    recursive,
    skipped = [],
  }: { readonly folder: string; readonly recursive: boolean; readonly skipped?: readonly string[] },
  signal: AbortSignal,
): AsyncGenerator<WatchEvent | undefined, void, undefined> {
  const fields = new URLSearchParams({ path: folder, recursive: String(recursive) });
  for (const name of skipped) fields.append('skip', name);
  const call = { method: 'GET', path: `/v1/watch?${fields.toString()}` } as const;
  const answer = await provider.callGuest(sandboxId, call, signal);
  try {
    for await (const event of serverSentEvents(answer)) {
      yield event && z.parse(watchEvent, JSON.parse(event.data));
    }
  } catch (error) {
    signal.throwIfAborted();
    throw connectionLost(sandboxId, error);
  } finally {
    answer.destroy();
  }
}
