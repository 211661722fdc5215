import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { PortholeError } from '../errors.ts';
import type { ExecProcess, SandboxProvider } from '../ports/sandbox-provider.ts';
import { type Note, SENTINEL, TarOutput } from '../rules/archive/tar-output.ts';
import { belowWorkspace, resolveWorkspacePath } from '../rules/workspace-path.ts';
import { tarOfGuest } from './guest-files.ts';
import { outputOf } from './output-of.ts';
import { readAgain } from './read-again.ts';
import { IN_FOLDER, knownFailure, UNDER_WAY } from './workspace-script.ts';

/**
 * Everything below a folder on its own file system, as `./…`. The arguments are patterns of paths
 * to leave out; uploads that are under way are not in it, unless tar can leave out nothing. Where
 * it can, find leaves them out: tar tries
 * each pattern at every slash of every name, and in a deep tree does not come to an end. Of find
 * that fails tar is told as of what is not there, so that a part is not taken for the whole. GNU
 * tar and busybox's leave out what may not be read and say so, in the words that `TarOutput` knows;
 * any other ends there. GNU's exit code 1 only says that a file changed while it was read, as files
 * in a living workspace do.
 */
const PERSIST = `${IN_FOLDER}
about=$(tar --help 2>&1)
[ -r . ] || { echo 'the folder itself may not be read' >&2; exit 46; }
export LC_ALL=C
copies=$1
shift
case "$about" in *hard-dereference*) ;; *) copies= ;; esac
case "$about" in *ignore-failed-read*) copies="$copies --ignore-failed-read --quoting-style=escape" ;; esac
own=
case "$about" in *one-file-system*) own=--one-file-system ;; esac
lists=
case "$about" in *--null*) command -v find >/dev/null && lists=yes ;; esac
if [ -n "$lists" ] && [ $# -gt 0 ]; then
  for path in "$@"; do
    shift
    set -- "$@" -o -path "$path"
  done
  shift
  race=-ignore_readdir_race
  find . $race -prune >/dev/null 2>&1 || race=
  shut=
  if find . -prune -readable -executable >/dev/null 2>&1; then
    shut='-o -type d ( ! -readable -o ! -executable ) -prune -print0'
  fi
  {
    find . $race -xdev '(' "$@" -o -name '${UNDER_WAY}' ')' -prune $shut -o -print0 ||
      printf '%s\\0' '${SENTINEL}'
  } | tar -cf - $copies --null --no-recursion -T -
  code=$?
  case "$code$about" in 1*GNU*) exit 0 ;; esac
  exit "$code"
fi
for path in "$@"; do
  shift
  set -- "$@" "--exclude=$path"
done
case "$about" in
  *--exclude*) set -- "$@" --exclude='.porthole-[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]' ;;
esac
tar -cf - $copies $own "$@" .
code=$?
case "$code$about" in 1*GNU*) exit 0 ;; esac
exit "$code"
`;

export interface PersistOptions {
  /** A folder of the workspace. @default the workspace itself */
  readonly path?: string;
  /** Paths below the folder to leave out. */
  readonly excludes?: readonly string[];
  /** Whether each name of a file with several has the contents, where the sandbox's tar can do that; otherwise all but the first are hard links. @default false */
  readonly copiesHardLinks?: boolean;
}

/** A folder as a tar, and what is missing in it. */
export interface PersistedFolder {
  /** As tar makes it. */
  readonly tar: Readable;
  /** Tells what is not in it and not named there, because the sandbox's own user may not read it; to be asked once the tar has ended. Undefined where nothing is missing. */
  readonly note: () => Note | undefined;
  /** How many files and folders are not in it for that reason; to be asked as well. */
  readonly leftOut: () => number;
}

/**
 * A folder of the workspace as a plain tar, as it comes. Resolves once it begins. What fails later makes the stream fail, so that a part is never taken for the whole.
 * @throws PortholeError `invalid_request`, `path_outside_workspace`, `workspace_read_not_found`, `workspace_archive_read_error`, and what `exec` refuses
 */
export async function persistWorkspace(
  { provider }: { readonly provider: Pick<SandboxProvider, 'exec' | 'callGuest'> },
  sandboxId: string,
  { path = '/workspace', excludes = [], copiesHardLinks = false }: PersistOptions = {},
  signal?: AbortSignal,
): Promise<PersistedFolder> {
  const folder = resolveWorkspacePath(path, 'path');
  const patterns = excludes.flatMap((exclude) => excludePattern(exclude) ?? []);
  const copies = copiesHardLinks ? '--hard-dereference' : '';
  const command = {
    argv: ['sh', '-c', PERSIST, 'sh', belowWorkspace(folder), copies, ...patterns],
  } as const;
  // Until the first byte nothing has been handed on.
  if (provider.callGuest !== undefined) {
    const options = { excludes, copiesHardLinks };
    const persisted = await readAgain(() => tarOfGuest(provider, sandboxId, folder, options, signal), signal);
    // The guest itself names in the last entry what is missing.
    return { ...persisted, note: () => undefined };
  }
  return readAgain(async () => tarOf(await provider.exec(sandboxId, command, signal), folder), signal);
}

async function tarOf(process: ExecProcess, folder: string): Promise<PersistedFolder> {
  const words = new TarOutput();
  process.stderr.setEncoding('utf8');
  process.stderr.on('data', (said: string) => words.take(said));
  const heard = finished(process.stderr).catch(() => undefined);
  const failed = (why: string) => new PortholeError('workspace_archive_read_error', `tar failed ${why}`);
  const tar = outputOf(
    process,
    async ({ code, signal: killed }) => {
      await heard;
      if (code === 1 && words.isWhole) return undefined;
      return knownFailure(code, folder) ?? failed(`(exit ${code ?? killed}): ${words.first}`);
    },
    async () => {
      await heard;
      if (words.fault !== undefined) throw failed(`half-way: ${words.fault}`);
    },
  );
  await once(tar, 'readable');
  return { tar, note: () => words.note(), leftOut: () => words.leftOut };
}

/** A pattern that means this very path; undefined for nothing. */
function excludePattern(path: string): string | undefined {
  if (path.includes('..')) throw new PortholeError('invalid_request', 'exclude paths must not contain ".."');
  if (path.includes('\0')) {
    throw new PortholeError('invalid_request', 'exclude paths must not contain a NUL character');
  }
  const below = path.replace(/^(?:\.?\/)+/, '').replace(/\/+$/, '');
  if (below === '' || below === '.') return undefined;
  return `./${below.replace(/[*?[\]\\]/g, '\\$&')}`;
}
