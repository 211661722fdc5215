import { Readable } from 'node:stream';
import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import { changeWorkspaceFile } from '#core/files/workspace-files.ts';
import { defineTool } from '../mcp-tool.ts';
import { filePath, runId } from './inputs-tool.ts';
import { sandboxOf } from './run-sandbox-tool.ts';

export const writeFileTool = defineTool({
  name: 'write_file',
  title: 'Write a file',
  description:
    'Write a file in the sandbox of a run, whole; one that is there is replaced, and missing folders are made. For more than 1 MiB use PUT /v1/sandbox/{id}/file/{path}.',
  input: z.strictObject({
    run_id: runId,
    path: filePath,
    content: z.string(),
    encoding: z.enum(['utf-8', 'base64']).default('utf-8').describe('How `content` is written'),
  }),
  output: z.object({ path: z.string(), size: z.number().int().describe('In bytes') }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  async run({ run_id, path, content, encoding }, context) {
    const { id } = await sandboxOf(context, run_id);
    const bytes = encoding === 'base64' ? fromBase64(content) : Buffer.from(content);
    const { caller, services, signal } = context;
    await changeWorkspaceFile(services, { caller, sandboxId: id, path }, Readable.from([bytes]), signal);
    return { data: { path, size: bytes.length }, text: `Wrote ${bytes.length} bytes to ${path}.` };
  },
});

function fromBase64(content: string): Buffer {
  const compact = content.replace(/\s+/g, '');
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(compact)) {
    return Buffer.from(compact, 'base64');
  }
  throw new PortholeError('invalid_request', 'content: must be base64, as encoding says.', {
    remedy: 'Send text with encoding utf-8.',
  });
}
