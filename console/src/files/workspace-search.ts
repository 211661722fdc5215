import { call } from '../api/client.ts';

const ROOT = '/workspace';
/** Installed packages and the history of git hide what a person looks for. */
const SKIP = 'node_modules,.git,.venv,__pycache__';

async function list(sandboxId: string, type: 'file' | 'directory'): Promise<readonly string[]> {
  const { entries } = await call('GET /v1/sandbox/{id}/files', {
    path: { id: sandboxId },
    query: { depth: 16, skip: SKIP },
  });
  return entries.filter((each) => each.type === type).map(({ path }) => path);
}

/** The absolute paths of the files of a workspace. */
export function listPaths(sandboxId: string): Promise<readonly string[]> {
  return list(sandboxId, 'file');
}

/** A list with more is cut. */
const MAX_FOLDERS = 1_000;

/** The absolute paths of the folders of a workspace, and the workspace itself. */
export async function listFolders(sandboxId: string): Promise<readonly string[]> {
  return [ROOT, ...(await list(sandboxId, 'directory'))].slice(0, MAX_FOLDERS);
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
