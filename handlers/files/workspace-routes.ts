import { Readable } from 'node:stream';
import { z } from 'zod';
import { performerOf } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { hydrateWorkspace } from '#core/files/guest-files.ts';
import { persistWorkspace } from '#core/files/persist-workspace.ts';
import { ownPieces } from '#base/free-buffer.ts';
import { useSandbox } from '#core/sandboxes/use-sandbox.ts';
import { checkedTar } from '#base/tar/validate-tar.ts';
import { withUpload } from '../http/limited-stream.ts';
import { defineRoute, json } from '../route.ts';
import { GUEST_ERRORS, SandboxPath } from '../sandboxes/sandbox-path.ts';
import { WRITE_ERRORS } from './folder-routes.ts';

const Hydrated = z
  .object({
    ok: z.literal(true),
    outside_links: z
      .object({
        total: z.number().int(),
        links: z.array(z.object({ path: z.string(), target: z.string() })).describe('The first 1,000'),
      })
      .optional()
      .describe('Links that lead out of /workspace, to anything but programs of the image. None: no field'),
  })
  .meta({ id: 'HydrateResponse' });

const hydrateWorkspaceRoute = defineRoute('hydrateWorkspace', 'POST', '/v1/sandbox/{id}/hydrate', {
  tag: 'Sandboxes',
  summary: 'Unpack a tar over the workspace',
  description:
    'A plain tar, as `persist` gives it: the disk of the sandbox limits it, unless the installation sets a limit. Existing files are replaced, others stay. An archive with entries outside /workspace is refused as a whole. Symbolic links stay links, wherever they lead, and are never followed; the answer names those that lead out of /workspace.',
  class: 'heavy',
  agents: true,
  delegates: { scope: 'fs:write' },
  bridge: true,
  params: SandboxPath,
  body: 'stream',
  responses: {
    200: { description: 'Unpacked', schema: Hydrated },
  },
  streams: true,
  errors: WRITE_ERRORS,
  async handle(request, services) {
    const { params, caller, signal } = request;
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const { archive: bytes } = services.uploads;
    const outside = await withUpload(request, { bytes, tooLarge: tooLargeFor(bytes) }, (content) =>
      hydrateWorkspace(services.sandboxes, sandbox.id, content, 'all', signal),
    );
    services.publisher.publish(sandbox.id, 'file_written', { path: '/workspace', ...performerOf(caller) });
    return json(200, { ok: true, ...(outside.total > 0 && { outside_links: outside }) });
  },
});

/** 400 and not 413, like the bridge. */
function tooLargeFor(limit: number): (bytes: number) => PortholeError {
  return (bytes) =>
    new PortholeError(
      'invalid_request',
      `tar payload too large: ${bytes} bytes exceeds the ${limit}-byte limit`,
    );
}

const persistWorkspaceRoute = defineRoute('persistWorkspace', 'POST', '/v1/sandbox/{id}/persist', {
  tag: 'Sandboxes',
  summary: 'Download the workspace as a tar',
  description:
    'A plain tar with members `./…`. Mounted buckets are not in it. What the sandbox’s user may not read is left out, and named in its last member, `./.porthole-unreadable-files`.',
  class: 'heavy',
  agents: true,
  delegates: { scope: 'fs:read' },
  bridge: true,
  params: SandboxPath,
  query: z.object({
    excludes: z
      .string()
      .optional()
      .describe('Paths below /workspace to leave out, comma-separated')
      .meta({ example: 'node_modules,.venv' }),
  }),
  responses: { 200: { description: 'The archive', contentType: 'application/octet-stream' } },
  streams: true,
  errors: ['workspace_archive_read_error', ...GUEST_ERRORS],
  async handle({ params, query, caller, signal }, services) {
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const excludes = query.excludes === undefined ? [] : query.excludes.split(',');
    const { tar } = await persistWorkspace(services, sandbox.id, { excludes }, signal);
    const body = ownPieces(Readable.from(checkedTar(tar), { objectMode: false }));
    return {
      statusCode: 200,
      headers: { 'content-type': 'application/octet-stream', 'x-content-type-options': 'nosniff' },
      body,
    };
  },
});

export const workspaceRoutes = [persistWorkspaceRoute, hydrateWorkspaceRoute];
