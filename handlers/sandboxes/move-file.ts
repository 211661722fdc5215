import { z } from 'zod';
import { resolveWorkspacePath } from '#core/rules/workspace-path.ts';
import { delegatedProvider } from '#core/use-cases/delegations/delegated-provider.ts';
import { moveWorkspaceFile } from '#core/use-cases/guest-files.ts';
import { useSandbox } from '#core/use-cases/use-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxPath } from './sandbox-path.ts';

const path = z.string().min(1).max(16_384);

export const moveFileRoute = defineRoute({
  id: 'moveFile',
  method: 'POST',
  path: '/v1/sandbox/{id}/move',
  tag: 'Sandboxes',
  summary: 'Move or rename a file or a folder',
  description:
    'Missing folders are made. A symbolic link is moved itself. Sandboxes without a guest answer 501.',
  access: 'caller',
  agents: true,
  delegates: { scope: 'fs:write', enforces: 'paths' },
  params: SandboxPath,
  body: z.strictObject({
    from: path.describe('Relative to /workspace, or absolute below it').meta({ example: 'draft.md' }),
    to: path.describe('Its new path').meta({ example: 'docs/final.md' }),
    overwrite: z.boolean().default(false).describe('Whether a file at `to` is replaced; a folder never is'),
  }),
  responses: {
    200: {
      description: 'Moved',
      schema: z
        .object({ path: z.string().describe('Where it is now, absolute') })
        .meta({ id: 'MoveResponse' }),
    },
  },
  errors: [
    'path_outside_workspace',
    'sandbox_not_found',
    'workspace_read_not_found',
    'file_exists',
    'sandbox_not_running',
    'workspace_archive_write_error',
    'exec_transport_error',
  ],
  async handle({ params, body, caller, signal }, services) {
    const [from, to] = [resolveWorkspacePath(body.from, 'path'), resolveWorkspacePath(body.to, 'path')];
    // Both are checked as they are written; the guest checks where links lead.
    delegatedProvider(services.provider, caller, from);
    const provider = delegatedProvider(services.provider, caller, to);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    await moveWorkspaceFile(provider, sandbox.id, { from, to, overwrite: body.overwrite }, signal);
    services.publisher.publish(sandbox.id, 'file_deleted', { path: from });
    services.publisher.publish(sandbox.id, 'file_written', { path: to });
    return json(200, { path: to });
  },
});
