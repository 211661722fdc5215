import { Readable } from 'node:stream';
import { z } from 'zod';
import { delegatedGuests } from '#core/delegations/delegate-sandbox.ts';
import { watchWorkspace } from '#core/files/guest-files.ts';
import { readListing } from '#core/files/list-workspace-files.ts';
import { resolveWorkspacePath } from '#core/files/workspace-path.ts';
import { useSandbox } from '#core/sandboxes/use-sandbox.ts';
import type { WatchEvent } from '#guest/protocol/files-protocol.ts';
import { EVENT_STREAM_HEADERS, FIRST_FRAME, QUIET_FRAME } from '../http/event-stream-response.ts';
import { defineRoute } from '../route.ts';
import { SandboxPath } from '../sandboxes/sandbox-path.ts';
import { inListingThread } from './listing-thread.ts';

/** `path` of routes for a folder of the workspace. */
export const FolderPath = z
  .string()
  .default('/workspace')
  .describe('Within /workspace, the default; relative ones count from there')
  .meta({ example: '/workspace' });

const MOST_DEPTH = 16;
const DEPTH = `must be a whole number from 1 to ${MOST_DEPTH}`;

const Entry = z
  .object({
    path: z.string().describe('Absolute; bytes that are no UTF-8 are U+FFFD'),
    name: z.string(),
    type: z.enum(['file', 'directory', 'symlink', 'other']),
    size: z.number().int().nullable().describe('In bytes, of a file'),
    mtime: z.iso.datetime().nullable().describe('null: beyond the years that RFC 3339 has'),
    mode: z.string().describe('Octal, with the three bits above the permissions').meta({ example: '0644' }),
  })
  .meta({ id: 'FileEntry' });

export const listFilesRoute = defineRoute({
  id: 'listFiles',
  shared: { sandbox: 'view' },
  method: 'GET',
  path: '/v1/sandbox/{id}/files',
  tag: 'Sandboxes',
  summary: 'List a folder',
  description:
    'By path, links not followed. At most 10,000 entries, and 4 MiB of names: `truncated` says that there are more, which a listing of a folder below, or a smaller depth, shows.',
  access: 'caller',
  class: 'heavy',
  agents: true,
  delegates: { scope: 'fs:read', enforces: 'paths' },
  params: SandboxPath,
  query: z.object({
    path: FolderPath,
    depth: z.coerce
      .number(DEPTH)
      .int(DEPTH)
      .min(1, DEPTH)
      .max(MOST_DEPTH, DEPTH)
      .default(1)
      .describe('1: what is in the folder itself'),
  }),
  responses: {
    200: {
      description: 'What is in it',
      schema: z.object({ entries: z.array(Entry), truncated: z.boolean() }).meta({ id: 'FileList' }),
    },
  },
  errors: [
    'path_outside_workspace',
    'sandbox_not_found',
    'workspace_read_not_found',
    'sandbox_not_running',
    'workspace_archive_read_error',
    'exec_transport_error',
  ],
  async handle({ params, query: { path, depth }, caller, signal }, services) {
    const provider = delegatedGuests(services.provider, caller, path);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const listing = await readListing({ provider }, sandbox.id, path, { depth }, signal);
    return {
      statusCode: 200,
      headers: { 'content-type': 'application/json' },
      body: await inListingThread(listing),
    };
  },
});

/** After this time the client reconnects, and its credential is checked again. */
const LONGEST_MS = 3_600_000;

export const watchFilesRoute = defineRoute({
  id: 'watchFiles',
  shared: { sandbox: 'view' },
  method: 'GET',
  path: '/v1/sandbox/{id}/watch',
  tag: 'Sandboxes',
  summary: 'Watch a folder for changes',
  description:
    'Server-sent events, each with JSON `{"type", "path"}`: first `ready`, from which on changes are reported; `changed` with the current `file` (`type`, `size`, `mtime`, `mode`), `deleted`; `limited` when not all folders below can be watched (1,024 are), `overflow` when changes were lost: list the folder again. Several changes of one path may be one event. The stream ends with the folder, and after an hour.',
  access: 'caller',
  class: 'stream',
  agents: true,
  delegates: { scope: 'fs:read', enforces: 'paths' },
  params: SandboxPath,
  query: z.object({
    path: FolderPath,
    recursive: z.enum(['true', 'false']).default('true').describe('Whether folders below are watched'),
  }),
  responses: { 200: { description: 'The events', contentType: 'text/event-stream' } },
  streams: true,
  errors: [
    'path_outside_workspace',
    'sandbox_not_found',
    'workspace_read_not_found',
    'sandbox_not_running',
    'workspace_archive_read_error',
    'exec_transport_error',
  ],
  async handle({ params, query: { path, recursive }, caller, signal }, services) {
    const folder = resolveWorkspacePath(path, 'path');
    const provider = delegatedGuests(services.provider, caller, folder);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const over = AbortSignal.any([
      AbortSignal.timeout(LONGEST_MS),
      services.stopping,
      ...(signal === undefined ? [] : [signal]),
    ]);
    const wanted = { folder, recursive: recursive === 'true' };
    const events = watchWorkspace(provider, sandbox.id, wanted, over);
    // A problem with the folder is an error response, not the end of a stream.
    const first = await events.next();
    return {
      statusCode: 200,
      headers: { ...EVENT_STREAM_HEADERS },
      body: Readable.from(frames(first.value ?? undefined, events, over)),
    };
  },
});

async function* frames(
  first: WatchEvent | undefined,
  events: AsyncGenerator<WatchEvent | undefined, void>,
  over: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  yield FIRST_FRAME;
  if (first !== undefined) yield frame(first);
  try {
    for await (const event of events) yield event === undefined ? QUIET_FRAME : frame(event);
  } catch (error) {
    if (!over.aborted) throw error;
  }
}

function frame({ type, path, stat }: WatchEvent): string {
  const file = stat && {
    type: stat.type,
    size: stat.type === 'file' ? stat.size : null,
    mtime: stat.mtime,
    mode: stat.mode.toString(8).padStart(4, '0'),
  };
  return `event: ${type}\ndata: ${JSON.stringify({ type, path, ...(file && { file }) })}\n\n`;
}
