import { ApiError, call } from '../api/client.ts';

const ROOT = '/workspace';
const TAKEN = 17;
const NO_FOLDER = 18;

/**
 * Operations that the file routes lack are commands in the sandbox, with its own permissions. Paths
 * are arguments, never part of a script: no shell injection.
 */
const SCRIPTS = {
  makeFolder: `[ ! -e "$1" ] && [ ! -L "$1" ] || exit ${TAKEN}; exec mkdir -- "$1"`,
  rename: `[ ! -e "$2" ] && [ ! -L "$2" ] || exit ${TAKEN}; exec mv -- "$1" "$2"`,
  move: `[ -d "$2" ] || exit ${NO_FOLDER}; to="$2/\${1##*/}"; [ ! -e "$to" ] && [ ! -L "$to" ] || exit ${TAKEN}; exec mv -- "$1" "$to"`,
  remove: 'exec rm -rf -- "$1"',
} as const;

/**
 * @param paths absolute, below the workspace
 * @throws ApiError, with the command's output if it failed
 */
export async function changeFolder(
  sandboxId: string,
  what: keyof typeof SCRIPTS,
  ...paths: readonly string[]
): Promise<void> {
  const { exit_code: code, stderr } = await call('POST /v1/sandbox/{id}/exec', {
    path: { id: sandboxId },
    headers: { accept: 'application/json' },
    body: {
      argv: ['sh', '-c', SCRIPTS[what], 'sh', ...paths.map((path) => `.${path.slice(ROOT.length)}`)],
      cwd: ROOT,
      timeout_ms: 120_000,
    },
  });
  if (code === 0) return;
  const words =
    code === TAKEN
      ? 'Something of that name is there already.'
      : code === NO_FOLDER
        ? 'There is no such folder.'
        : stderr.trim().slice(0, 500);
  throw new ApiError(409, 'exec_error', words === '' ? `The command ended with ${code}.` : words);
}

/**
 * Moves a file or folder into another folder.
 * @returns its new path
 * @throws ApiError if there is no such folder, or the name is taken there
 */
export async function moveInto(sandboxId: string, path: string, folder: string): Promise<string> {
  const to = `${folder}/${path.slice(path.lastIndexOf('/') + 1)}`;
  if (to === path) return path;
  if (`${folder}/`.startsWith(`${path}/`)) {
    throw new ApiError(409, 'exec_error', 'A folder cannot be moved into itself.');
  }
  await changeFolder(sandboxId, 'move', path, folder);
  return to;
}
