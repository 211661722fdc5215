import { Readable } from 'node:stream';
import { z } from 'zod';
import type { WatchEvent } from '#guest/protocol/files.ts';
import { resolveWorkspacePath } from '#core/rules/workspace-path.ts';
import { delegatedProvider } from '#core/use-cases/delegations/delegated-provider.ts';
import { watchWorkspace } from '#core/use-cases/guest-files.ts';
import { useSandbox } from '#core/use-cases/use-sandbox.ts';
import { EVENT_STREAM_HEADERS, FIRST_FRAME, QUIET_FRAME } from '../event-stream.ts';
import { defineRoute } from '../route.ts';
import { FolderPath } from './folder-path.ts';
import { SandboxPath } from './sandbox-path.ts';

/** After this long the client comes back, and its credential is checked again. */
const LONGEST_MS = 3_600_000;

export const watchFilesRoute = defineRoute({
  id: 'watchFiles',
  method: 'GET',
  path: '/v1/sandbox/{id}/watch',
  tag: 'Sandboxes',
  summary: 'Watch a folder for changes',
  description:
    'Server-sent events, each with JSON `{"type", "path"}`: first `ready`, from which on changes are reported; `changed` with the `file` as it is now (`type`, `size`, `mtime`, `mode`), `deleted`; `limited` when not all folders below can be watched (1,024 are), `overflow` when changes were lost: list the folder again. Several changes of one path may be one event. The stream ends with the folder, and after an hour. Sandboxes without a guest answer 501.',
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
    const provider = delegatedProvider(services.provider, caller, folder);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const over = AbortSignal.any([
      AbortSignal.timeout(LONGEST_MS),
      services.stopping,
      ...(signal === undefined ? [] : [signal]),
    ]);
    const events = watchWorkspace(provider, sandbox.id, folder, recursive === 'true', over);
    // What is wrong with the folder is an answer of its own, not the end of a stream.
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
