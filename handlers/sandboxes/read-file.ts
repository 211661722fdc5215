import { posix } from 'node:path';
import { delegatedProvider } from '#core/use-cases/delegations/delegated-provider.ts';
import { useSandbox } from '#core/use-cases/use-sandbox.ts';
import { readWorkspaceFile } from '#core/use-cases/workspace-files.ts';
import { attachment } from '../attachment.ts';
import { defineRoute } from '../route.ts';
import { absolutePath, FilePath } from './file-path.ts';
import { checkSessionHeader } from './session-header.ts';

export const readFileRoute = defineRoute({
  id: 'readFile',
  method: 'GET',
  path: '/v1/sandbox/{id}/file/{path}',
  tag: 'Sandboxes',
  summary: 'Read a file',
  access: 'caller',
  agents: true,
  delegates: { scope: 'fs:read', enforces: 'paths' },
  bridge: true,
  session: true,
  params: FilePath,
  responses: { 200: { description: 'The bytes of the file', contentType: 'application/octet-stream' } },
  streams: true,
  errors: [
    'path_outside_workspace',
    'sandbox_not_found',
    'workspace_read_not_found',
    'sandbox_not_running',
    'exec_transport_error',
  ],
  async handle({ params, headers, caller, signal }, services) {
    checkSessionHeader(headers);
    const path = absolutePath(params.path);
    const provider = delegatedProvider(services.provider, caller, path);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const { content, size } = await readWorkspaceFile({ provider }, sandbox.id, path, signal);
    return {
      statusCode: 200,
      headers: {
        'content-type': 'application/octet-stream',
        // Whatever it is, a browser that is led here saves it, and shows nothing of it on this origin.
        'content-disposition': attachment(posix.basename(path)),
        'x-content-type-options': 'nosniff',
        // So that a client notices an answer that breaks off.
        ...(size !== undefined && { 'content-length': String(size) }),
      },
      body: content,
    };
  },
});
