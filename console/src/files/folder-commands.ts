import { ApiError, call } from '../api/client.ts';

const ROOT = '/workspace';
const TAKEN = 17;

/** What the file routes do not do is done by commands of the sandbox, where its own rights hold. Paths are words of a command, and never of a script. */
const SCRIPTS = {
  makeFolder: `[ ! -e "$1" ] && [ ! -L "$1" ] || exit ${TAKEN}; exec mkdir -- "$1"`,
  rename: `[ ! -e "$2" ] && [ ! -L "$2" ] || exit ${TAKEN}; exec mv -- "$1" "$2"`,
  remove: 'exec rm -rf -- "$1"',
} as const;

/**
 * @param paths absolute, below the workspace
 * @throws ApiError, with what the command said where it failed
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
  const words = code === TAKEN ? 'Something of that name is there already.' : stderr.trim().slice(0, 500);
  throw new ApiError(409, 'exec_error', words === '' ? `The command ended with ${code}.` : words);
}
