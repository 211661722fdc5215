import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import { readAtMost } from '#core/shared/reads.ts';
import { readWorkspaceFile } from '#core/files/workspace-files.ts';
import { defineTool } from '../mcp-tool.ts';
import { filePath, runId } from './inputs-tool.ts';
import { sandboxOf } from './run-sandbox-tool.ts';

/** Maximum size of a file in bytes: commands read larger ones. */
const MOST_FILE = 1024 * 1024;
/** Maximum bytes of a response: about 8,000 tokens. Base64 makes 4 characters of 3 bytes. */
const MOST = { 'utf-8': 30_000, base64: 22_500 } as const;

export const readFileTool = defineTool({
  name: 'read_file',
  title: 'Read a file',
  description: `Read a file of the sandbox of a run, ${MOST['utf-8']} bytes at a time: \`next_offset\` says where the next part begins. What is not UTF-8 text comes as base64.`,
  input: z.strictObject({
    run_id: runId,
    path: filePath,
    offset: z.number().int().min(0).max(MOST_FILE).default(0).describe('The first byte to read'),
  }),
  output: z.object({
    content: z.string(),
    encoding: z.enum(['utf-8', 'base64']),
    size: z.number().int().describe('Of the whole file, in bytes'),
    next_offset: z.number().int().nullable().describe('Null at the end of the file'),
  }),
  annotations: { readOnlyHint: true },
  async run({ run_id, path, offset }, context) {
    const { id } = await sandboxOf(context, run_id);
    const { content: file } = await readWorkspaceFile(context.services, id, path, context.signal);
    const bytes = await readAtMost(file, MOST_FILE);
    if (bytes === undefined) {
      throw new PortholeError('payload_too_large', `${path} is larger than ${MOST_FILE} bytes`, {
        remedy: 'read a part of it with run_command (head, tail, sed).',
      });
    }
    const part = partOf(bytes, offset);
    const end = offset + part.length;
    const text = utf8(part);
    const data = {
      content: text ?? part.toString('base64'),
      encoding: text === undefined ? ('base64' as const) : ('utf-8' as const),
      size: bytes.length,
      next_offset: end < bytes.length ? end : null,
    };
    const more = data.next_offset === null ? '' : `\n[${bytes.length - end} more bytes from offset ${end}]`;
    return { data, text: `${data.content}${more}` };
  },
});

/** Ends at a UTF-8 character boundary, if it is text. */
function partOf(bytes: Buffer, offset: number): Buffer {
  const part = bytes.subarray(offset, offset + MOST['utf-8']);
  for (let end = part.length; end > part.length - 4 && end > 0; end -= 1) {
    if (utf8(part.subarray(0, end)) !== undefined) return part.subarray(0, end);
    if (offset + part.length >= bytes.length) break;
  }
  return part.subarray(0, MOST.base64);
}

function utf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
