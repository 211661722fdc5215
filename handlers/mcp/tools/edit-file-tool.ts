import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import { readAtMost } from '#core/shared/reads.ts';
import { changeWorkspaceFile, readWorkspaceFile } from '#core/files/workspace-files.ts';
import { defineTool } from '../mcp-tool.ts';
import { filePath, runId } from './inputs-tool.ts';
import { sandboxOf } from './run-sandbox-tool.ts';

/** Maximum size of a file in bytes. */
const MOST_FILE = 1024 * 1024;

export const editFileTool = defineTool({
  name: 'edit_file',
  title: 'Edit a file',
  description:
    'Replace a text in a file of the sandbox of a run. `old_text` must be in the file exactly once, with its white space, unless `replace_all` is set.',
  input: z.strictObject({
    run_id: runId,
    path: filePath,
    old_text: z.string().min(1),
    new_text: z.string(),
    replace_all: z.boolean().default(false),
  }),
  output: z.object({ path: z.string(), replacements: z.number().int() }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  async run({ run_id, path, old_text, new_text, replace_all }, context) {
    const { services, signal } = context;
    const { id } = await sandboxOf(context, run_id);
    const { content: file } = await readWorkspaceFile(services, id, path, signal);
    const parts = textOf(await readAtMost(file, MOST_FILE), path).split(old_text);
    const found = parts.length - 1;
    if (found === 0 || (found > 1 && !replace_all)) {
      throw new PortholeError(
        'invalid_request',
        found === 0
          ? `old_text: ${path} does not contain it. Read the file, and copy the text with its white space.`
          : `old_text: ${path} contains it ${found} times. Add lines around it, or set replace_all.`,
      );
    }
    const content = Readable.from([Buffer.from(parts.join(new_text))]);
    await changeWorkspaceFile(services, { caller: context.caller, sandboxId: id, path }, content, signal);
    const times = found === 1 ? 'one place' : `${found} places`;
    return { data: { path, replacements: found }, text: `Changed ${times} in ${path}.` };
  },
});

function textOf(bytes: Buffer | undefined, path: string): string {
  if (bytes === undefined) {
    throw new PortholeError('payload_too_large', `${path} is larger than ${MOST_FILE} bytes`, {
      remedy: 'change it with run_command (sed).',
    });
  }
  if (isUtf8(bytes)) return bytes.toString();
  throw new PortholeError('invalid_request', `path: ${path} is not UTF-8 text`, {
    remedy: 'use write_file.',
  });
}
