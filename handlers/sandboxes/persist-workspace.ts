import { Readable } from 'node:stream';
import { z } from 'zod';
import { validatedBytes } from '#core/use-cases/validated-tar.ts';
import { persistWorkspace } from '#core/use-cases/persist-workspace.ts';
import { useSandbox } from '#core/use-cases/use-sandbox.ts';
import { defineRoute } from '../route.ts';
import { SandboxPath } from './sandbox-path.ts';

export const persistWorkspaceRoute = defineRoute({
  id: 'persistWorkspace',
  method: 'POST',
  path: '/v1/sandbox/{id}/persist',
  tag: 'Sandboxes',
  summary: 'Download the workspace as a tar',
  description:
    'A plain tar with members `./…`. Mounted buckets are not in it. What the sandbox’s user may not read is left out, and named in its last member, `./.porthole-unreadable-files`.',
  access: 'caller',
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
  errors: [
    'sandbox_not_found',
    'sandbox_not_running',
    'workspace_archive_read_error',
    'exec_transport_error',
  ],
  async handle({ params, query, caller, signal }, services) {
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const excludes = query.excludes === undefined ? [] : query.excludes.split(',');
    const { tar } = await persistWorkspace(services, sandbox.id, { excludes }, signal);
    const body = Readable.from(validatedBytes(tar, { remembers: 'none' }), { objectMode: false });
    return {
      statusCode: 200,
      headers: { 'content-type': 'application/octet-stream', 'x-content-type-options': 'nosniff' },
      body,
    };
  },
});
