import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import { readAtMost } from '#core/shared/reads.ts';
import { readWorkspaceFile } from '#core/files/workspace-files.ts';
import { defineTool } from '../mcp-tool.ts';
import { filePath, runId } from './inputs-tool.ts';
import { sandboxOf } from './run-sandbox-tool.ts';

/** In bytes: what a model can take in at once, and more. */
const MOST = 1024 * 1024;

export const readFileTool = defineTool({
  name: 'read_file',
  title: 'Read a file',
  description: 'Read a file of the sandbox of a run, up to 1 MiB. What is not UTF-8 text comes as base64.',
  input: z.strictObject({ run_id: runId, path: filePath }),
  output: z.object({ content: z.string(), encoding: z.enum(['utf-8', 'base64']), size: z.number().int() }),
  annotations: { readOnlyHint: true },
  async run({ run_id, path }, context) {
    const { id } = await sandboxOf(context, run_id);
    const { content: file } = await readWorkspaceFile(context.services, id, path, context.signal);
    const bytes = await readAtMost(file, MOST);
    if (bytes === undefined) {
      throw new PortholeError(
        'payload_too_large',
        `${path} is larger than ${MOST} bytes: read a part of it with run_command (head, tail, sed).`,
      );
    }
    const size = bytes.length;
    const text = utf8(bytes);
    if (text !== undefined) return { data: { content: text, encoding: 'utf-8' as const, size }, text };
    const content = bytes.toString('base64');
    return { data: { content, encoding: 'base64' as const, size }, text: content };
  },
});

function utf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
