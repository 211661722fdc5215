import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import * as z from 'zod/mini';
import { belowWorkspace, resolveWorkspacePath } from '../../base/workspace-path.ts';
import { PortholeError } from '../../base/errors.ts';
import { unlessAborted } from '../../base/concurrency.ts';
import {
  type FileMetadata,
  fileMetadata,
  mkdirRequest,
  MAX_CHANGED,
  MAX_LISTED,
  MAX_MATCHES,
  moveRequest,
  PATHS_HEADER,
  searchQuery,
  UNREADABLE_TRAILER,
  watchesRequest,
} from '../../protocol/guest/files-protocol.ts';
import { EventStream } from '../guest-event-stream.ts';
import { canFreeze } from '../freeze-processes.ts';
import type { KeptDetails } from '../kept-details.ts';
import { detailId } from '../../protocol/guest/details-protocol.ts';
import { MAX_REMOVED_BYTES } from '../../protocol/guest/tree-protocol.ts';
import { parse, readJson } from '../read-json.ts';
import { bodyOf, GuestError, type Handler, type RequestContext, type Routes, sendJson } from '../router.ts';
import { deleteFile, makeFolder, moveFile } from './change-files.ts';
import type { Sink } from './double-buffer.ts';
import { HeldWatches } from './held-watches.ts';
import { listFiles, statFile } from './list-files.ts';
import { placeSkills } from './place-skills.ts';
import { openFile, readPieces } from './read-file.ts';
import { ChangeRecorder } from './record-change.ts';
import { searchFiles } from './search-files.ts';
import { tarOut } from './tar-out.ts';
import { treeOut } from './tree-out.ts';
import { treeIn, unpackTar, uploadFiles } from './unpack.ts';
import { watchFolder } from './watch-folder.ts';
import { Workspace } from './workspace.ts';
import { writeFile } from './write-file.ts';

const limitPaths = z.array(z.string()).check(z.maxLength(256));

/**
 * @param root the folder mounted as /workspace
 * @param details receives the changes that the host wants to keep
 */
export function fileRoutes(root: string, details: KeptDetails): Routes<Handler> {
  const held = new HeldWatches();
  // Elsewhere it runs without a pid namespace.
  const freezes = root === '/workspace' && canFreeze();
  let whole: Workspace | undefined;
  const workspaceOf = ({ headers }: IncomingMessage): Workspace => {
    whole ??= new Workspace(root);
    const limits = headers[PATHS_HEADER];
    if (limits === undefined) return whole;
    // Header values are bytes.
    const text = Buffer.from(String(limits), 'latin1').toString('utf8');
    return whole.limitedTo(parse(fromJson(text, PATHS_HEADER), limitPaths));
  };
  return {
    'GET /v1/files': (request, response, context) =>
      sendFile(workspaceOf(request), request, response, context),
    'PUT /v1/files': async (request, response, { url }) => {
      const asked = url.searchParams.get('detail_id');
      const id = asked === null ? undefined : parse(asked, detailId);
      const recorder = id === undefined ? undefined : new ChangeRecorder();
      const options = { ...(recorder !== undefined && { recorder }), metadata: metadataIn(url) };
      await writeFile(workspaceOf(request), pathOf(url), bodyOf(request), options);
      if (id !== undefined && recorder?.detail !== undefined) details.keep(id, recorder.detail);
      sendJson(response, 200, { ok: true });
    },
    'DELETE /v1/files': async (request, response, { url }) => {
      await deleteFile(workspaceOf(request), pathOf(url), url.searchParams.get('recursive') === 'true');
      sendJson(response, 200, { ok: true });
    },
    'GET /v1/stat': async (request, response, { url }) => {
      sendJson(response, 200, await statFile(workspaceOf(request), pathOf(url), wantsMetadata(url)));
    },
    'GET /v1/list': async (request, response, { url, signal }) => {
      const depth = wholeNumber(url, 'depth', 1, 16);
      const most = wholeNumber(url, 'most', MAX_LISTED, MAX_LISTED);
      const options = { depth, most, skipped: skippedIn(url), hasMetadata: wantsMetadata(url) };
      await sendList(listFiles(workspaceOf(request), pathOf(url), options), response, signal);
    },
    'GET /v1/search': async (request, response, { url, signal }) => {
      const query = parse(Object.fromEntries(url.searchParams), searchQuery);
      const most = wholeNumber(url, 'most', MAX_MATCHES, MAX_MATCHES);
      const options = { ...query, most, skipped: skippedIn(url) };
      await sendList(searchFiles(workspaceOf(request), pathOf(url), options, signal), response, signal);
    },
    'POST /v1/mkdir': async (request, response) => {
      await makeFolder(workspaceOf(request), (await readJson(request, mkdirRequest)).path);
      sendJson(response, 200, { ok: true });
    },
    'POST /v1/move': async (request, response) => {
      const { from, to, overwrite = false } = await readJson(request, moveRequest);
      await moveFile(workspaceOf(request), from, to, overwrite);
      sendJson(response, 200, { ok: true });
    },
    'GET /v1/watch': async (request, response, { url, signal }) => {
      const recursive = url.searchParams.get('recursive') === 'true';
      const subfolders = { recursive, skipped: skippedIn(url) };
      let stream: EventStream | undefined;
      for await (const event of watchFolder(workspaceOf(request), pathOf(url), subfolders, signal)) {
        stream ??= new EventStream(response);
        stream.send(event.type, JSON.stringify(event));
        await stream.drained(signal);
      }
      stream?.end();
    },
    'POST /v1/watches': async (request, response) => {
      const { path, recursive = false } = await readJson(request, watchesRequest);
      sendJson(response, 200, { id: await held.start(workspaceOf(request), path, recursive) });
    },
    'POST /v1/watches/{id}/take': async (_request, response, { params }) => {
      const changes = await held.take(params['id'] ?? '');
      if (changes === undefined) throw noWatch();
      sendJson(response, 200, changes);
    },
    'DELETE /v1/watches/{id}': (_request, response, { params }) => {
      if (!held.stop(params['id'] ?? '')) throw noWatch();
      sendJson(response, 200, { ok: true });
    },
    'POST /v1/upload': async (request, response, { url }) => {
      const folder = belowWorkspace(resolveWorkspacePath(pathOf(url), 'path'));
      const name = Buffer.from(folder).toString('latin1');
      await uploadFiles(workspaceOf(request), name, bodyOf(request), metadataIn(url));
      sendJson(response, 200, { ok: true });
    },
    'GET /v1/tar': (request, response, context) => sendTar(workspaceOf(request), response, context),
    'PUT /v1/tar': async (request, response, { url }) => {
      const remembers = url.searchParams.get('remembers') === 'folders' ? 'folders' : 'all';
      sendJson(response, 200, await unpackTar(workspaceOf(request), bodyOf(request), remembers));
    },
    'POST /v1/tree': async (request, response, { signal }) => {
      const sink = bodySink(response, TREE_HEADERS, signal);
      await treeOut(workspaceOf(request), bodyOf(request), sink, freezes);
      response.end();
    },
    'PUT /v1/tree': async (request, response, { url }) => {
      const removes = wholeNumber(url, 'removes', 0, MAX_REMOVED_BYTES);
      await treeIn(workspaceOf(request), bodyOf(request), removes);
      sendJson(response, 200, { ok: true });
    },
    'PUT /v1/skills': async (request, response) => {
      const changed = await placeSkills(workspaceOf(request), bodyOf(request));
      sendJson(response, 200, { changed: changed.slice(0, MAX_CHANGED).map(utf8) });
    },
  };
}

/** Areas of `/tmp`: files that no checkpoint and no archive has. */
const TEMPORARY = ['files', 'stat', 'list', 'mkdir', 'move', 'watch', 'watches', 'upload'];

/**
 * Files of `/tmp`, by the routes of the workspace below `/v1/tmp`: paths in requests and answers
 * are those that the same file would have in the workspace. An older guest has no such routes.
 */
export function temporaryFileRoutes(root: string, details: KeptDetails): Routes<Handler> {
  const routes = Object.entries(fileRoutes(root, details)).flatMap(([name, handler]) => {
    const [method = '', path = ''] = name.split(' /v1/');
    return TEMPORARY.includes(path.split('/')[0] ?? '')
      ? [[`${method} /v1/tmp/${path}`, handler] as const]
      : [];
  });
  return Object.fromEntries(routes);
}

const noWatch = () =>
  new PortholeError('workspace_read_not_found', 'The watch has ended, or never existed: start another one.');

const utf8 = (name: string): string => Buffer.from(name, 'latin1').toString('utf8');

function fromJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new GuestError('invalid_request', `${what}: must be JSON.`);
  }
}

function pathOf({ searchParams }: URL): string {
  const path = searchParams.get('path');
  if (path === null) throw new GuestError('invalid_request', 'path: name it as a parameter of the query.');
  return path;
}

const wantsMetadata = ({ searchParams }: URL): boolean => searchParams.get('metadata') === 'true';

/** Of the files that a request writes, as JSON. */
function metadataIn({ searchParams }: URL): FileMetadata {
  const text = searchParams.get('metadata');
  return text === null ? {} : parse(fromJson(text, 'metadata'), fileMetadata);
}

/** Names as the bytes of a folder's entries: Latin-1. */
function skippedIn({ searchParams }: URL): ReadonlySet<string> {
  return new Set(searchParams.getAll('skip').map((name) => Buffer.from(name).toString('latin1')));
}

function wholeNumber({ searchParams }: URL, name: string, otherwise: number, most: number): number {
  const text = searchParams.get(name);
  if (text === null) return otherwise;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= most) return value;
  throw new GuestError('invalid_request', `${name}: must be a whole number from 1 to ${most}.`);
}

async function sendFile(
  workspace: Workspace,
  { headers }: IncomingMessage,
  response: ServerResponse,
  { url, signal }: RequestContext,
): Promise<void> {
  const file = await openFile(workspace, pathOf(url));
  const pieces = (from: number, to: number) => readPieces(file, from, to);
  const etag = `"${file.version}"`;
  const isOther = headers['if-match'] !== undefined && headers['if-match'] !== etag;
  const [, first, last] = /^bytes=(\d{1,15})-(\d{1,15})?$/.exec(headers.range ?? '') ?? [];
  const from = Number(first ?? 0);
  const to = Math.min(file.size, last === undefined ? file.size : Number(last) + 1);
  const isBeyond = first !== undefined && (from > file.size || to < from);
  if (isOther || isBeyond) {
    // An empty range closes the file.
    for await (const _ of pieces(0, 0));
    response.writeHead(isOther ? 412 : 416, {
      'content-type': 'application/json',
      'content-range': `bytes */${file.size}`,
    });
    response.end(
      JSON.stringify(
        isOther
          ? { error: 'The file has changed: read it from its beginning.', code: 'file_changed' }
          : { error: `The file has ${file.size} bytes: ask for some of those.`, code: 'invalid_request' },
      ),
    );
    return;
  }
  response.writeHead(first === undefined ? 200 : 206, {
    'content-type': 'application/octet-stream',
    'content-length': to - from,
    etag,
    'accept-ranges': 'bytes',
    ...(first !== undefined && { 'content-range': `bytes ${from}-${to - 1}/${file.size}` }),
  });
  response.flushHeaders();
  for await (const piece of pieces(from, to)) await send(response, piece, signal);
  response.end();
}

/** Characters of lines per write. */
const BATCH = 16_384;

async function sendList(
  entries: AsyncGenerator<object, boolean, undefined>,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  let lines = '';
  for (let isOver = false; !isOver; ) {
    const { value, done } = await entries.next();
    isOver = done === true;
    lines += `${JSON.stringify(isOver ? { truncated: value } : value)}\n`;
    if (lines.length < BATCH && !isOver) continue;
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    await send(response, lines, signal);
    lines = '';
  }
  response.end();
}

async function sendTar(
  workspace: Workspace,
  response: ServerResponse,
  { url, signal }: RequestContext,
): Promise<void> {
  const options = {
    excludes: url.searchParams.getAll('exclude'),
    copiesHardLinks: url.searchParams.get('hard_links') === 'copy',
  };
  const headers = { 'content-type': 'application/x-tar', trailer: UNREADABLE_TRAILER };
  const unreadable = await tarOut(workspace, pathOf(url), options, bodySink(response, headers, signal));
  response.addTrailers({ [UNREADABLE_TRAILER]: String(unreadable) });
  response.end();
}

const TREE_HEADERS = { 'content-type': 'application/octet-stream' };

/** The buffer of a piece is reused, so each waits until its bytes are sent. */
function bodySink(response: ServerResponse, headers: Record<string, string>, signal: AbortSignal): Sink {
  return async (piece) => {
    if (!response.headersSent) response.writeHead(200, headers);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    response.write(piece, (error) => (error ? reject(error) : resolve()));
    await unlessAborted(promise, signal);
  };
}

/** Writes with back-pressure. Rejects when the reader is gone. */
async function send(response: ServerResponse, piece: string | Buffer, signal: AbortSignal): Promise<void> {
  if (!response.write(piece)) await once(response, 'drain', { signal });
  signal.throwIfAborted();
}
