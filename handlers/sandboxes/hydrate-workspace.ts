import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import { hydrateWorkspace } from '#core/use-cases/hydrate-workspace.ts';
import { useSandbox } from '#core/use-cases/use-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxPath } from './sandbox-path.ts';
import { MAX_UPLOAD_BYTES, withUpload } from './upload.ts';

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

export const hydrateWorkspaceRoute = defineRoute({
  id: 'hydrateWorkspace',
  method: 'POST',
  path: '/v1/sandbox/{id}/hydrate',
  tag: 'Sandboxes',
  summary: 'Unpack a tar over the workspace',
  description:
    'A plain tar of at most 32 MiB. Files that are there are replaced, others stay. One with entries that leave /workspace is refused, and nothing of it is unpacked. Symbolic links stay links, wherever they lead, and are never followed; the answer names those that lead out of /workspace.',
  access: 'caller',
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
  errors: [
    'path_outside_workspace',
    'sandbox_not_found',
    'sandbox_not_running',
    'workspace_archive_write_error',
    'exec_transport_error',
  ],
  async handle({ params, caller, headers, stream, signal }, services) {
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const outside = await withUpload({ headers, stream }, tooLarge, (content) =>
      hydrateWorkspace(services, sandbox.id, content, {}, signal),
    );
    services.publisher.publish(sandbox.id, 'file_written', { path: '/workspace' });
    return json(200, { ok: true, ...(outside.total > 0 && { outside_links: outside }) });
  },
});

/** 400 and not 413, as the bridge has it. */
function tooLarge(bytes: number): PortholeError {
  return new PortholeError(
    'invalid_request',
    `tar payload too large: ${bytes} bytes exceeds the ${MAX_UPLOAD_BYTES}-byte limit`,
  );
}
