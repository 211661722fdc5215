import { z } from 'zod';
import { performerOf } from '#core/callers.ts';
import { delegatedGuests } from '#core/delegations/delegate-sandbox.ts';
import type { ErrorCode } from '#base/errors.ts';
import { makeWorkspaceFolder, searchWorkspace, watchWorkspace } from '#core/files/guest-files.ts';
import { type FileEntry, listWorkspaceFiles } from '#core/files/list-workspace-files.ts';
import { resolveWorkspacePath } from '#base/workspace-path.ts';
import { useSandbox } from '#core/sandboxes/use-sandbox.ts';
import { anySignal } from '#base/concurrency.ts';
import type { WatchEvent } from '#protocol/guest/files-protocol.ts';
import {
  eventStream,
  FIRST_FRAME,
  frame,
  MAX_STREAM_MS,
  QUIET_FRAME,
} from '../http/event-stream-response.ts';
import { queryFlag } from '../http/read-input.ts';
import { defineRoute, json } from '../route.ts';
import { GUEST_ERRORS, SandboxPath } from '../sandboxes/sandbox-path.ts';

/** `path` of routes for a folder of the workspace. */
export const FolderPath = z
  .string()
  .default('/workspace')
  .describe('Within /workspace (the default); a relative path starts there')
  .meta({ example: '/workspace' });

/** Errors of routes that change files of a workspace. */
export const WRITE_ERRORS: readonly ErrorCode[] = [
  'workspace_archive_write_error',
  ...GUEST_ERRORS,
  'path_outside_workspace',
];

/** What routes that read files have in common. */
export const reading = {
  shared: { sandbox: 'view' },
  tag: 'Sandboxes',
  agents: true,
  delegates: { scope: 'fs:read', enforces: 'paths' },
  params: SandboxPath,
  errors: [
    'workspace_archive_read_error',
    ...GUEST_ERRORS,
    'path_outside_workspace',
    'workspace_read_not_found',
  ],
} as const;

/** What routes that change them have in common. */
export const writing = {
  shared: { sandbox: 'work' },
  tag: 'Sandboxes',
  agents: true,
  delegates: { scope: 'fs:write', enforces: 'paths' },
  params: SandboxPath,
  errors: [...WRITE_ERRORS, 'workspace_read_not_found'],
} as const;

const MAX_DEPTH = 16;
const DEPTH = `must be a whole number from 1 to ${MAX_DEPTH}`;

const names = (text: string) => text.split(',').filter((name) => name !== '');

/** `skip` of routes that look below a folder. */
const Skip = z
  .string()
  .max(1_000)
  .describe('Names of folders to leave out at any depth, comma-separated')
  .meta({ example: 'node_modules,.git' });

const Entry = z
  .object({
    path: z.string().describe('Absolute; invalid UTF-8 becomes U+FFFD'),
    name: z.string(),
    type: z.enum(['file', 'directory', 'symlink', 'other']),
    size: z.number().int().nullable().describe('In bytes, of a file'),
    mtime: z.iso.datetime().nullable().describe('null: outside the years of RFC 3339'),
    mode: z.string().describe('Octal, with the three bits above the permissions').meta({ example: '0644' }),
  })
  .meta({ id: 'FileEntry' });

const MAX_ENTRIES = 10_000;

function toEntry({ mtime, mode, target: _target, ...entry }: FileEntry): z.input<typeof Entry> {
  return { ...entry, mtime: mtime?.toISOString() ?? null, mode: mode.toString(8).padStart(4, '0') };
}

const listFilesRoute = defineRoute('listFiles', 'GET', '/v1/sandbox/{id}/files', {
  ...reading,
  summary: 'List a folder',
  description:
    'By path, links not followed. At most 10,000 entries, and 4 MiB of names: `truncated` means that there are more: list a subfolder, or use a smaller depth.',
  class: 'heavy',
  query: z.object({
    path: FolderPath,
    depth: z.coerce
      .number(DEPTH)
      .int(DEPTH)
      .min(1, DEPTH)
      .max(MAX_DEPTH, DEPTH)
      .default(1)
      .describe('1: what is in the folder itself'),
    skip: Skip.optional(),
  }),
  responses: {
    200: {
      description: 'What is in it',
      schema: z.object({ entries: z.array(Entry), truncated: z.boolean() }).meta({ id: 'FileList' }),
    },
  },
  async handle({ params, query: { path, depth, skip = '' }, caller, signal }, services) {
    const sandboxes = delegatedGuests(services.sandboxes, caller, path);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const { entries, isCut } = await listWorkspaceFiles(
      { sandboxes },
      sandbox.id,
      path,
      { depth, most: MAX_ENTRIES, skipped: names(skip) },
      signal,
    );
    return json(200, { entries: entries.map(toEntry), truncated: isCut });
  },
});

/** Installed packages and the history of git: they hide what is searched for. */
export const DEFAULT_SKIP = 'node_modules,.git,.venv,__pycache__';
const MAX_MATCHES = 500;

const searchFilesRoute = defineRoute('searchFiles', 'GET', '/v1/sandbox/{id}/search', {
  ...reading,
  summary: 'Search a text in files',
  description: `Lines that contain the text, in upper or lower case, at most ${MAX_MATCHES}. Leaves out files of more than 1 MiB and files that are not text; links are not followed. A search ends after 256 MiB or 15 seconds: \`truncated\` means that there may be more: search a subfolder.`,
  class: 'heavy',
  query: z.object({
    text: z.string().min(1).max(1_000).meta({ example: 'TODO' }),
    path: FolderPath,
    skip: Skip.default(DEFAULT_SKIP),
  }),
  responses: {
    200: {
      description: 'The lines, by file',
      schema: z
        .object({
          matches: z.array(
            z.object({
              path: z.string().describe('Absolute'),
              line: z.int().describe('Its number, from 1'),
              text: z.string().describe('At most 400 characters of the line, with the first match'),
            }),
          ),
          truncated: z.boolean(),
        })
        .meta({ id: 'TextMatches' }),
    },
  },
  async handle({ params, query: { path, text, skip }, caller, signal }, services) {
    const folder = resolveWorkspacePath(path, 'path');
    const sandboxes = delegatedGuests(services.sandboxes, caller, folder);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const asked = { folder, query: { text }, skipped: names(skip), most: MAX_MATCHES };
    const { matches, isCut } = await searchWorkspace(sandboxes, sandbox.id, asked, signal);
    return json(200, { matches: [...matches], truncated: isCut });
  },
});

const makeFolderRoute = defineRoute('makeFolder', 'POST', '/v1/sandbox/{id}/folder', {
  ...writing,
  summary: 'Make a folder',
  description: 'Creates missing parent folders. Does nothing to an existing folder.',
  body: z.strictObject({
    path: z
      .string()
      .min(1)
      .max(16_384)
      .describe('Relative to /workspace, or absolute below it')
      .meta({ example: 'docs/notes' }),
  }),
  responses: {
    200: {
      description: 'The folder exists',
      schema: z.object({ path: z.string().describe('Absolute') }).meta({ id: 'FolderResponse' }),
    },
  },
  async handle({ params, body, caller, signal }, services) {
    const path = resolveWorkspacePath(body.path, 'path');
    const sandboxes = delegatedGuests(services.sandboxes, caller, path);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    await makeWorkspaceFolder(sandboxes, sandbox.id, path, signal);
    services.publisher.publish(sandbox.id, 'file_written', { path, ...performerOf(caller) });
    return json(200, { path });
  },
});

const watchFilesRoute = defineRoute('watchFiles', 'GET', '/v1/sandbox/{id}/watch', {
  ...reading,
  summary: 'Watch a folder for changes',
  description:
    'Server-sent events, each with JSON `{"type", "path"}`: first `ready`, from which on changes are reported; `changed` with the current `file` (`type`, `size`, `mtime`, `mode`), `deleted`; `limited` when not all folders below can be watched (1,024 are), `overflow` when changes were lost: list the folder again. Several changes of one path may be one event. The stream ends with the folder, and after an hour.',
  class: 'stream',
  query: z.object({
    path: FolderPath,
    recursive: queryFlag('true').describe('Whether folders below are watched'),
  }),
  responses: { 200: { description: 'The events', contentType: 'text/event-stream' } },
  streams: true,
  async handle({ params, query: { path, recursive }, caller, signal }, services) {
    const folder = resolveWorkspacePath(path, 'path');
    const sandboxes = delegatedGuests(services.sandboxes, caller, folder);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const over = anySignal(AbortSignal.timeout(MAX_STREAM_MS), services.stopping, signal);
    const events = watchWorkspace(sandboxes, sandbox.id, { folder, recursive }, over);
    // A problem with the folder is an error response, not the end of a stream.
    const first = await events.next();
    return eventStream(frames(first.value ?? undefined, events, over));
  },
});

async function* frames(
  first: WatchEvent | undefined,
  events: AsyncGenerator<WatchEvent | undefined, void>,
  over: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  yield FIRST_FRAME;
  if (first !== undefined) yield watchFrame(first);
  try {
    for await (const event of events) yield event === undefined ? QUIET_FRAME : watchFrame(event);
  } catch (error) {
    if (!over.aborted) throw error;
  }
}

function watchFrame({ type, path, stat }: WatchEvent): string {
  const file = stat && {
    type: stat.type,
    size: stat.type === 'file' ? stat.size : null,
    mtime: stat.mtime,
    mode: stat.mode.toString(8).padStart(4, '0'),
  };
  return frame(type, JSON.stringify({ type, path, ...(file && { file }) }));
}

export const folderRoutes = [watchFilesRoute, listFilesRoute, searchFilesRoute, makeFolderRoute];
