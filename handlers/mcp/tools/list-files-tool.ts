import { z } from 'zod';
import { plainText } from '#core/shared/plain-text.ts';
import { listWorkspaceFiles } from '#core/files/list-workspace-files.ts';
import { defineTool, fitting } from '../mcp-tool.ts';
import { filePath, runId } from './inputs-tool.ts';
import { sandboxOf } from './run-sandbox-tool.ts';

/** Entries, and characters of their JSON. */
const MOST_ENTRIES = 400;
const MOST_JSON = 31_000;
/** Names that models know. */
const KINDS = { file: 'file', directory: 'folder', symlink: 'link', other: 'other' } as const;

export const listFilesTool = defineTool({
  name: 'list_files',
  title: 'List a folder',
  description:
    'List what is in a folder of the sandbox of a run: names, kinds, sizes of files. Not what is in its folders.',
  input: z.strictObject({
    run_id: runId,
    path: filePath.default('/workspace').describe('A folder within /workspace, which is the default'),
  }),
  output: z.object({
    entries: z.array(
      z.object({
        name: z.string(),
        kind: z.enum(['file', 'folder', 'link', 'other']),
        size: z.number().int().nullable().describe('In bytes, of a file'),
      }),
    ),
    is_cut: z.boolean().describe('There are more'),
  }),
  annotations: { readOnlyHint: true },
  async run({ run_id, path }, context) {
    const { id } = await sandboxOf(context, run_id);
    const { entries, isCut } = await listWorkspaceFiles(
      context.services,
      id,
      path,
      { depth: 1, most: MOST_ENTRIES },
      context.signal,
    );
    const all = entries.map(({ name, type, size }) => ({ name, kind: KINDS[type], size: size ?? null }));
    const listed = fitting(all, MOST_JSON);
    const hasMore = isCut || listed.length < all.length;
    const lines = listed.map(({ name, kind, size }) => {
      const shown = plainText(name, 255);
      if (kind === 'folder') return `${shown}/`;
      return size === null ? `${shown} (${kind})` : `${shown} (${size} bytes)`;
    });
    if (hasMore) lines.push('… and more');
    return {
      data: { entries: listed, is_cut: hasMore },
      text: lines.length === 0 ? 'The folder is empty.' : lines.join('\n'),
    };
  },
});
