import { z } from 'zod';
import { belowWorkspace, resolveWorkspacePath } from '#core/files/workspace-path.ts';
import { defineTool } from '../mcp-tool.ts';
import { linkToWhole, MOST_FILE, readFileBytes, utf8 } from '../run-resources.ts';
import { filePath, runId } from './inputs-tool.ts';

/** Maximum bytes of a response: about 8,000 tokens. Base64 makes 4 characters of 3 bytes. */
const MOST = { 'utf-8': 30_000, base64: 22_500 } as const;
/** Maximum characters of its JSON, which escapes control characters. */
const MOST_JSON = 31_500;

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
    const bytes = await readFileBytes(context, run_id, path);
    let part = partOf(bytes, offset, MOST['utf-8']);
    while (JSON.stringify(utf8(part) ?? '').length > MOST_JSON) {
      part = partOf(bytes, offset, Math.floor(part.length * 0.75));
    }
    const end = offset + part.length;
    const text = utf8(part);
    const data = {
      content: text ?? part.toString('base64'),
      encoding: text === undefined ? ('base64' as const) : ('utf-8' as const),
      size: bytes.length,
      next_offset: end < bytes.length ? end : null,
    };
    const more = data.next_offset === null ? '' : `\n[${bytes.length - end} more bytes from offset ${end}]`;
    const isPart = offset > 0 || data.next_offset !== null;
    const whole = isPart
      ? await linkToWhole(context, run_id, 'files', belowWorkspace(resolveWorkspacePath(path, 'path')))
      : undefined;
    return { data, text: `${data.content}${more}`, whole };
  },
});

/** Ends at a UTF-8 character boundary, if it is text. */
function partOf(bytes: Buffer, offset: number, most: number): Buffer {
  const part = bytes.subarray(offset, offset + most);
  for (let end = part.length; end > part.length - 4 && end > 0; end -= 1) {
    if (utf8(part.subarray(0, end)) !== undefined) return part.subarray(0, end);
    if (offset + part.length >= bytes.length) break;
  }
  return part.subarray(0, MOST.base64);
}
