import { z } from 'zod';
import { searchWorkspace } from '#core/files/guest-files.ts';
import { resolveWorkspacePath } from '#core/files/workspace-path.ts';
import { plainText } from '#core/shared/plain-text.ts';
import { DEFAULT_SKIP } from '../../files/folder-routes.ts';
import { defineTool, fitting } from '../mcp-tool.ts';
import { filePath, runId } from './inputs-tool.ts';
import { sandboxOf } from './run-sandbox-tool.ts';

/** Matches of an answer, characters of their JSON, and of each line. */
const MOST_MATCHES = 200;
const MOST_JSON = 24_000;
const MOST_LINE = 400;

export const searchFilesTool = defineTool({
  name: 'search_files',
  title: 'Search files',
  description:
    'Find files below a folder of the sandbox of a run by name (`glob`), or lines in them by a regular expression (`pattern`), or both. Leaves out node_modules, .git, .venv and __pycache__, and files of more than 1 MiB.',
  input: z.strictObject({
    run_id: runId,
    path: filePath.default('/workspace').describe('A folder within /workspace, which is the default'),
    glob: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe('Relative to path: *.ts in any folder, src/*.ts, src/**/*.ts'),
    pattern: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe('A regular expression of JavaScript, for one line. Absent: names of files'),
    ignore_case: z.boolean().default(false),
  }),
  output: z.object({
    matches: z.array(
      z.object({
        path: z.string().describe('Relative to the folder'),
        line: z.number().int().nullable().describe('Its number, from 1; null without pattern'),
        text: z.string().nullable(),
      }),
    ),
    is_cut: z.boolean().describe('There are more: narrow the search'),
  }),
  annotations: { readOnlyHint: true },
  async run({ run_id, path, glob, pattern, ignore_case }, context) {
    const { services, signal } = context;
    const folder = resolveWorkspacePath(path, 'path');
    const { id } = await sandboxOf(context, run_id);
    const query = {
      pattern,
      glob: glob === undefined || glob.includes('/') ? glob : `**/${glob}`,
      ignore_case: String(ignore_case),
    };
    const asked = { folder, query, skipped: DEFAULT_SKIP.split(','), most: MOST_MATCHES };
    const found = await searchWorkspace(services.provider, id, asked, signal);
    const all = found.matches.map((match) => ({
      path: plainText(match.path.slice(folder.length + 1), 255),
      ...(match.line === 0
        ? { line: null, text: null }
        : { line: match.line, text: plainText(match.text, MOST_LINE) }),
    }));
    const matches = fitting(all, MOST_JSON);
    const isCut = found.isCut || matches.length < all.length;
    const shown = matches.map(({ path: name, line, text }) =>
      line === null ? name : `${name}:${line}: ${text}`,
    );
    if (isCut) shown.push('… and more');
    return {
      data: { matches, is_cut: isCut },
      text: shown.length === 0 ? 'Nothing matches.' : shown.join('\n'),
    };
  },
});
