import { ApiError, call } from '../api/client.ts';

const ROOT = '/workspace';
const TIMEOUT_MS = 30_000;
/** The API cuts output at 1 MiB. */
const MOST_BYTES = 900_000;
const MOST_MATCHES = 500;

/** Installed packages and the history of git hide what a person looks for. */
const FIND = String.raw`find . \( -name node_modules -o -name .git -o -name .venv -o -name __pycache__ \) -prune -o -type`;

async function run(sandboxId: string, script: string, argument: string): Promise<readonly string[]> {
  const { stdout, stderr } = await call('POST /v1/sandbox/{id}/exec', {
    path: { id: sandboxId },
    headers: { accept: 'application/json' },
    // The text is an argument, never part of the script: no shell injection.
    body: {
      argv: ['sh', '-c', `${script} | head -c ${MOST_BYTES}`, 'sh', argument],
      cwd: ROOT,
      timeout_ms: TIMEOUT_MS,
    },
  });
  if (stdout === '' && /(find|grep): (command )?not found/.test(stderr)) {
    throw new ApiError(409, 'exec_error', 'The image needs find and grep to search files.');
  }
  // The last line is empty, or cut in its middle.
  return stdout.split('\n').slice(0, -1);
}

/** The absolute paths of the files of a workspace. */
export async function listPaths(sandboxId: string): Promise<readonly string[]> {
  const lines = await run(sandboxId, `${FIND} f -print`, '');
  return lines.map((line) => `${ROOT}${line.slice(1)}`);
}

/** A list with more is cut. */
const MOST_FOLDERS = 1_000;

/** The absolute paths of the folders of a workspace, and the workspace itself. */
export async function listFolders(sandboxId: string): Promise<readonly string[]> {
  const lines = await run(sandboxId, `${FIND} d -print`, '');
  return lines
    .map((line) => `${ROOT}${line.slice(1)}`)
    .sort()
    .slice(0, MOST_FOLDERS);
}

/**
 * The absolute path of a typed folder: `src`, `/workspace/src/` or `.`; undefined outside the
 * workspace.
 */
export function workspacePath(typed: string): string | undefined {
  const absolute = typed.startsWith('/') ? typed : `${ROOT}/${typed}`;
  const names = absolute.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..') || absolute.includes('\0')) return undefined;
  return `/${names[0] ?? ''}` === ROOT ? `/${names.join('/')}` : undefined;
}

export interface TextMatch {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

export interface TextMatches {
  readonly matches: readonly TextMatch[];
  readonly isCut: boolean;
}

/** Lines that contain a text, in upper or lower case. */
export async function searchText(sandboxId: string, text: string): Promise<TextMatches> {
  const lines = await run(sandboxId, `${FIND} f -exec grep -HniF -e "$1" {} + | cut -c 1-400`, text);
  const found = lines.map(matchOf).filter((each) => each !== undefined);
  return { matches: found.slice(0, MOST_MATCHES), isCut: found.length > MOST_MATCHES };
}

/** `./src/a.ts:12:const a` as a match; undefined for a note about a binary file. */
export function matchOf(line: string): TextMatch | undefined {
  const [, path, number, text] = /^\.(\/.*?):(\d+):(.*)$/s.exec(line) ?? [];
  if (path === undefined || number === undefined || text === undefined || text.includes('\0'))
    return undefined;
  return { path: `${ROOT}${path}`, line: Number(number), text: text.trim() };
}

/**
 * The paths that contain the typed characters in their order, best first: in the name, together,
 * at the start of a word, short.
 */
export function rankPaths(paths: readonly string[], typed: string, most: number): readonly string[] {
  const wanted = typed.toLowerCase().replaceAll(' ', '');
  const scored = paths
    .map((path) => ({ path, score: scoreOf(path.toLowerCase(), wanted) }))
    .filter(({ score }) => score !== undefined);
  scored.sort((a, b) => (b.score ?? 0) - (a.score ?? 0) || a.path.length - b.path.length);
  return scored.slice(0, most).map(({ path }) => path);
}

function scoreOf(path: string, wanted: string): number | undefined {
  if (wanted === '') return 0;
  const name = path.lastIndexOf('/') + 1;
  const together = path.lastIndexOf(wanted);
  if (together >= name) return 300 - (together - name);
  if (together !== -1) return 200;
  let score = 0;
  let at = -1;
  for (const character of wanted) {
    const next = path.indexOf(character, at + 1);
    if (next === -1) return undefined;
    if (next === at + 1) score += 5;
    if (/[/._-]/.test(path[next - 1] ?? '/')) score += 3;
    at = next;
  }
  return score;
}
