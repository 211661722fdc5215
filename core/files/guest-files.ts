/**
 * Files of a sandbox, through its guest. Its answers are bounded and validated: any code may answer
 * in its place.
 */
import type { Readable } from 'node:stream';
import * as z from 'zod/mini';
import {
  heldChanges,
  type HeldChanges,
  heldWatch,
  listEnd,
  type SearchQuery,
  textMatch,
  type TextMatch,
  unpacked,
  type Unpacked,
  watchEvent,
  type WatchEvent,
} from '#protocol/guest/files-protocol.ts';
import { PortholeError } from '#base/errors.ts';
import type { GuestCall, Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { Remembered } from '#base/tar/archive-tree.ts';
import { eventData, eventsAnswer, jsonAnswer, linesAnswer } from '../processes/guest-answers.ts';

/** A provider with or without guests. */
export type GuestProvider = Pick<Sandboxes, 'callGuest'>;

/** Timeout to move 100,000 files of an archive into place, in ms; a busy disk needs minutes. */
export const UNPACKS_WITHIN_MS = 600_000;

export const query = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString();

export function connectionLost(sandboxId: string, cause: unknown): PortholeError {
  if (cause instanceof PortholeError) return cause;
  return new PortholeError(
    'exec_transport_error',
    `Sandbox ${sandboxId}: the connection to its guest was lost.`,
    { remedy: 'Try again.', cause },
  );
}

/** Sends contents to the guest. If both fail, throws the error of the contents. */
export async function send<T>(
  sandboxes: GuestProvider,
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
    const answer = await sandboxes.callGuest(
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

export const done = z.object({ ok: z.literal(true) });

/**
 * Unpacks a plain tar over the workspace: existing files are replaced, others stay. The whole tar
 * is validated before anything is unpacked. Returns the symbolic links that lead out of the
 * workspace: they are created unchanged, and never followed; their targets may not exist.
 * @throws PortholeError `invalid_request` for a rejected tar, `path_outside_workspace` if it would
 * follow a link out of the workspace, `workspace_archive_write_error`, or the stream's own error
 */
export async function hydrateWorkspace(
  sandboxes: GuestProvider,
  sandboxId: string,
  content: Readable,
  remembers: Remembered,
  signal?: AbortSignal,
): Promise<Unpacked['outside_links']> {
  const path = `/v1/tar?${query({ remembers })}`;
  const call = { method: 'PUT', path, answerWithin: UNPACKS_WITHIN_MS } as const;
  return (await send(sandboxes, sandboxId, call, content, unpacked, signal)).outside_links;
}

/** Bytes of an answer to a search, and its time in ms, which is above the guest's own limit. */
const MAX_FOUND_BYTES = 4 * 1_048_576;
const SEARCHES_WITHIN_MS = 30_000;

/**
 * Lines of files below a folder that contain a text or match a pattern; files, if there is neither.
 * The guest evaluates pattern and glob: neither can block the host. `isCut`: there may be more.
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`,
 * `forbidden`, `workspace_archive_read_error`
 */
export async function searchWorkspace(
  sandboxes: GuestProvider,
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
  const answer = await sandboxes.callGuest(sandboxId, call, signal);
  const { items, end } = await linesAnswer(answer, sandboxId, {
    item: textMatch,
    end: listEnd,
    most,
    limit: MAX_FOUND_BYTES,
    within: SEARCHES_WITHIN_MS,
  });
  const matches = items.filter(({ path }) => path.startsWith(`${folder}/`));
  return { matches, isCut: end?.truncated ?? true };
}

/** @throws as `deleteWorkspaceFile` does */
export async function makeWorkspaceFolder(
  sandboxes: GuestProvider,
  sandboxId: string,
  path: string,
  signal?: AbortSignal,
): Promise<void> {
  const call = { method: 'POST', path: '/v1/mkdir', body: { path } } as const;
  await jsonAnswer(await sandboxes.callGuest(sandboxId, call, signal), sandboxId, done);
}

/**
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`,
 * `forbidden`, `workspace_archive_write_error`
 */
export async function deleteWorkspaceFile(
  sandboxes: GuestProvider,
  sandboxId: string,
  absolute: string,
  recursive: boolean,
  signal?: AbortSignal,
): Promise<void> {
  const path = `/v1/files?${query({ path: absolute, recursive: String(recursive) })}`;
  const call = { method: 'DELETE', path, answerWithin: UNPACKS_WITHIN_MS } as const;
  await jsonAnswer(await sandboxes.callGuest(sandboxId, call, signal), sandboxId, done);
}

/** @throws as `deleteWorkspaceFile` does, and `file_exists` */
export async function moveWorkspaceFile(
  sandboxes: GuestProvider,
  sandboxId: string,
  body: { readonly from: string; readonly to: string; readonly overwrite: boolean },
  signal?: AbortSignal,
): Promise<void> {
  const call = { method: 'POST', path: '/v1/move', body } as const;
  await jsonAnswer(await sandboxes.callGuest(sandboxId, call, signal), sandboxId, done);
}

/**
 * Changes below a folder; yields undefined periodically without changes. Ends with the folder.
 * @param skipped names of folders to leave unwatched, at any depth
 */
export async function* watchWorkspace(
  sandboxes: GuestProvider,
  sandboxId: string,
  asked: { readonly folder: string; readonly recursive: boolean; readonly skipped?: readonly string[] },
  signal: AbortSignal,
): AsyncGenerator<WatchEvent | undefined, void, undefined> {
  const { folder, recursive, skipped = [] } = asked;
  const fields = new URLSearchParams({ path: folder, recursive: String(recursive) });
  for (const name of skipped) fields.append('skip', name);
  const call = { method: 'GET', path: `/v1/watch?${fields.toString()}` } as const;
  const answer = await sandboxes.callGuest(sandboxId, call, signal);
  for await (const event of eventsAnswer(answer, sandboxId, signal)) {
    yield event && (await eventData(event, sandboxId, watchEvent));
  }
}

/** Starts a watch that is asked for its changes. Returns its id. @throws as a listing does */
export async function startHeldWatch(
  sandboxes: GuestProvider,
  sandboxId: string,
  body: { readonly path: string; readonly recursive: boolean },
  signal?: AbortSignal,
): Promise<string> {
  const call = { method: 'POST', path: '/v1/watches', body } as const;
  return (await jsonAnswer(await sandboxes.callGuest(sandboxId, call, signal), sandboxId, heldWatch)).id;
}

/** Its changes since the last call. @throws PortholeError `workspace_read_not_found` */
export async function takeHeldChanges(
  sandboxes: GuestProvider,
  sandboxId: string,
  watch: string,
  signal?: AbortSignal,
): Promise<HeldChanges> {
  const call = { method: 'POST', path: `/v1/watches/${encodeURIComponent(watch)}/take` } as const;
  return jsonAnswer(await sandboxes.callGuest(sandboxId, call, signal), sandboxId, heldChanges);
}

/** @throws PortholeError `workspace_read_not_found` */
export async function stopHeldWatch(
  sandboxes: GuestProvider,
  sandboxId: string,
  watch: string,
  signal?: AbortSignal,
): Promise<void> {
  const call = { method: 'DELETE', path: `/v1/watches/${encodeURIComponent(watch)}` } as const;
  await jsonAnswer(await sandboxes.callGuest(sandboxId, call, signal), sandboxId, done);
}
