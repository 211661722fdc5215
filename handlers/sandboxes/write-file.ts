import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import { resolveWorkspacePath } from '#core/rules/workspace-path.ts';
import { delegatedProvider } from '#core/use-cases/delegations/delegated-provider.ts';
import { useSandbox } from '#core/use-cases/use-sandbox.ts';
import { writeWorkspaceFile } from '#core/use-cases/workspace-files.ts';
import { defineRoute, json } from '../route.ts';
import { absolutePath, FilePath } from './file-path.ts';
import { checkSessionHeader } from './session-header.ts';
import { MAX_UPLOAD_BYTES, withUpload } from './upload.ts';

export const writeFileRoute = defineRoute({
  id: 'writeFile',
  method: 'PUT',
  path: '/v1/sandbox/{id}/file/{path}',
  tag: 'Sandboxes',
  summary: 'Write a file',
  description:
    'The body is the raw bytes, at most 32 MiB. Missing folders are made; the file appears whole or not at all.',
  access: 'caller',
  agents: true,
  delegates: { scope: 'fs:write', enforces: 'paths' },
  bridge: true,
  session: true,
  params: FilePath,
  body: 'stream',
  responses: {
    200: { description: 'Written', schema: z.object({ ok: z.literal(true) }).meta({ id: 'WriteResponse' }) },
  },
  streams: true,
  errors: [
    'path_outside_workspace',
    'sandbox_not_found',
    'sandbox_not_running',
    'payload_too_large',
    'workspace_archive_write_error',
  ],
  async handle({ params, caller, headers, stream, signal }, services) {
    checkSessionHeader(headers);
    const path = absolutePath(params.path);
    const provider = delegatedProvider(services.provider, caller, path);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    await withUpload({ headers, stream }, tooLarge, (content) =>
      writeWorkspaceFile({ provider }, sandbox.id, path, content, signal),
    );
    services.publisher.publish(sandbox.id, 'file_written', { path: resolveWorkspacePath(path, 'path') });
    return json(200, { ok: true });
  },
});

function tooLarge(bytes: number): PortholeError {
  return new PortholeError(
    'payload_too_large',
    `payload too large: ${bytes} bytes exceeds the ${MAX_UPLOAD_BYTES}-byte limit`,
  );
}
