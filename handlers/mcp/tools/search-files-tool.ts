import { matchesGlob } from 'node:path';
import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import { collectCommand } from '#core/processes/collect-command.ts';
import { executeCommand } from '#core/processes/execute-command.ts';
import { plainText } from '#core/shared/plain-text.ts';
import { defineTool } from '../mcp-tool.ts';
import { filePath, runId } from './inputs-tool.ts';
import { sandboxOf } from './run-sandbox-tool.ts';

/** Characters of an answer, and of each line; and matches, so that JSON does not multiply them. */
const MOST_OUTPUT = 16_000;
const MOST_MATCHES = 200;
const MOST_LINE = 200;
const TIMEOUT_MS = 30_000;

/** Installed packages and the history of git hide what the agent looks for. */
const FIND = `find . \\( -name node_modules -o -name .git -o -name .venv -o -name __pycache__ \\) -prune -o -type f -path "$1"`;
/** One byte more than the limit shows that the answer is cut. */
const CUT = `| cut -c 1-${MOST_LINE} | head -c ${MOST_OUTPUT + 1}`;

export const searchFilesTool = defineTool({
  name: 'search_files',
  title: 'Search files',
  description:
    'Find files below a folder of the sandbox of a run by name (`glob`), or lines in them by a regular expression (`pattern`), or both. Leaves out node_modules, .git, .venv and __pycache__.',
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
      .describe('An extended regular expression, as of grep -E. Absent: names of files'),
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
    const { id } = await sandboxOf(context, run_id);
    const whole = glob === undefined || glob.includes('/') ? glob : `**/${glob}`;
    const grep = `-exec grep -Hn${ignore_case ? 'i' : ''}E -e "$2" {} +`;
    const script = pattern === undefined ? `${FIND} -print ${CUT}` : `${FIND} ${grep} ${CUT}`;
    const argv = ['sh', '-c', script, 'sh', `./${looseGlob(whole ?? '*')}`, pattern ?? ''];
    const running = await executeCommand(services, id, { argv, cwd: path, timeoutMs: TIMEOUT_MS }, signal);
    const { stdout, stderr, timedOut } = await collectCommand(running);
    if (stdout === '') checkFailure(plainText(stderr.trim(), MOST_LINE));
    const lines = stdout.split('\n');
    // The last line is empty, or cut in its middle.
    lines.pop();
    const found = lines
      .map((line) => matchOf(line, pattern !== undefined))
      .filter((match) => whole === undefined || matchesGlob(match.path, whole));
    const isCut = timedOut || stdout.length > MOST_OUTPUT || found.length > MOST_MATCHES;
    const matches = found.slice(0, MOST_MATCHES);
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

/**
 * Without output, an invalid pattern or a missing program is an error. An unreadable folder is not.
 */
function checkFailure(stderr: string): void {
  if (/^grep:.*(regular|unmatched|invalid)/i.test(stderr)) {
    throw new PortholeError('invalid_request', `pattern: ${stderr}`);
  }
  if (/(find|grep): (command )?not found/.test(stderr)) {
    throw new PortholeError('exec_error', `The image needs find and grep to search files: ${stderr}`);
  }
}

/** The same or more for find, where `*` also matches `/`: results are filtered afterwards. */
function looseGlob(glob: string): string {
  return glob.replace(/\*\*\/?/g, '*').replace(/\{[^}]*\}/g, '*');
}

function matchOf(line: string, hasText: boolean) {
  const [, path = line, number, text] = (hasText ? /^(.*?):(\d+):(.*)$/ : /^(.*)$/).exec(line) ?? [];
  const name = plainText(path.replace(/^\.\//, ''), 255);
  if (number === undefined) return { path: name, line: null, text: null };
  return { path: name, line: Number(number), text: plainText(text ?? '', MOST_LINE) };
}
