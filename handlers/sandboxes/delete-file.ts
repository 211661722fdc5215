import { z } from 'zod';
import { resolveWorkspacePath } from '#core/rules/workspace-path.ts';
import { delegatedProvider } from '#core/use-cases/delegations/delegated-provider.ts';
import { deleteWorkspaceFile } from '#core/use-cases/guest-files.ts';
import { useSandbox } from '#core/use-cases/use-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { absolutePath, FilePath } from './file-path.ts';

export const deleteFileRoute = defineRoute({
  id: 'deleteFile',
  method: 'DELETE',
  path: '/v1/sandbox/{id}/file/{path}',
  tag: 'Sandboxes',
  summary: 'Delete a file or a folder',
  description:
    'A symbolic link is deleted itself; what it leads to stays. A folder that is not empty needs `recursive=true`. Sandboxes without a guest answer 501.',
  access: 'caller',
  agents: true,
  delegates: { scope: 'fs:write', enforces: 'paths' },
  params: FilePath,
  query: z.object({ recursive: z.enum(['true', 'false']).default('false') }),
  responses: {
    200: {
      description: 'Deleted',
      schema: z.object({ ok: z.literal(true) }).meta({ id: 'DeleteFileResponse' }),
    },
  },
  errors: [
    'path_outside_workspace',
    'sandbox_not_found',
    'workspace_read_not_found',
    'sandbox_not_running',
    'workspace_archive_write_error',
    'exec_transport_error',
  ],
  async handle({ params, query, caller, signal }, services) {
    const path = resolveWorkspacePath(absolutePath(params.path), 'path');
    const provider = delegatedProvider(services.provider, caller, path);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    await deleteWorkspaceFile(provider, sandbox.id, path, query.recursive === 'true', signal);
    services.publisher.publish(sandbox.id, 'file_deleted', { path });
    return json(200, { ok: true });
  },
});
