import { PortholeError } from '../errors.ts';
import type { ExecProcess, SandboxProvider } from '../ports/sandbox-provider.ts';
import { resolveWorkspacePath } from '../rules/workspace-path.ts';
import { readAtMost } from './read-at-most.ts';

/** One entry of a folder. */
export interface FileEntry {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  /** In bytes, of a file. */
  readonly size: number | undefined;
}

/** Entries beyond are left out, and it is said so. */
const MOST_ENTRIES = 1_000;
/** In bytes: a thousand of the longest names there are, and their sizes. */
const MOST_OUTPUT = 512 * 1024;

/**
 * Names what is in a folder: for each entry `<kind><name>` and a zero byte, then an empty one, then a line of `ls` for each in the order of their bytes. Names may hold
 * anything, so sizes are not read from lines with names in them alone.
 */
const SCRIPT = `
root=$(cd -P -- "\${WORKSPACE:-/workspace}" && pwd -P) || exit 70
folder=$root/$1
[ -e "$folder" ] || exit 44
[ -d "$folder" ] || exit 45
cd -P -- "$folder" || exit 46
case "$(pwd -P)/" in "$root"/*) ;; *) exit 43 ;; esac
most=$2
LC_ALL=C
export LC_ALL
set --
for name in * .[!.]* ..?*; do
  [ -e "./$name" ] || [ -L "./$name" ] || continue
  [ $# -lt "$most" ] || { full=yes; break; }
  set -- "$@" "./$name"
  if [ -L "./$name" ]; then kind=l; elif [ -d "./$name" ]; then kind=d; elif [ -f "./$name" ]; then kind=f; else kind=o; fi
  printf '%s%s\\0' "$kind" "$name"
done
printf '%s\\0' "\${full:+full}"
[ $# = 0 ] || ls -ldnq -- "$@"
`;

/**
 * What is in a folder of the workspace, by name. `isCut`: there is more.
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`, `workspace_archive_read_error`, and what `exec` refuses
 */
export async function listWorkspaceFiles(
  { provider }: { readonly provider: Pick<SandboxProvider, 'exec'> },
  sandboxId: string,
  path: string,
  signal?: AbortSignal,
): Promise<{ readonly entries: readonly FileEntry[]; readonly isCut: boolean }> {
  const absolute = resolveWorkspacePath(path, 'path');
  const below = absolute.slice('/workspace'.length).replace(/^\//, '');
  const process = await provider.exec(
    sandboxId,
    { argv: ['sh', '-c', SCRIPT, 'sh', below, String(MOST_ENTRIES)] },
    signal,
  );
  process.stderr.resume();
  const said = await readAtMost(process.stdout, MOST_OUTPUT);
  if (said === undefined) {
    process.kill('SIGKILL');
    throw new PortholeError('workspace_archive_read_error', `read failed: ${absolute}: too long a list`);
  }
  await check(process, absolute);
  return readListing(said);
}

async function check({ exited }: ExecProcess, path: string): Promise<void> {
  const { code } = await exited;
  if (code === 0) return;
  if (code === 43) {
    throw new PortholeError('path_outside_workspace', 'path must resolve to a location within /workspace');
  }
  if (code === 44) throw new PortholeError('workspace_read_not_found', `Folder not found: ${path}`);
  if (code === 45) throw new PortholeError('invalid_request', `${path} is no directory: read it as a file.`);
  throw new PortholeError('workspace_archive_read_error', `read failed: ${path}: it cannot be listed`);
}

const KINDS: Readonly<Record<string, FileEntry['kind']>> = { f: 'file', d: 'folder', l: 'link', o: 'other' };

/** The sandbox may say anything: entries of no known kind are left out, and sizes that do not fit the names. */
function readListing(said: Buffer): { entries: FileEntry[]; isCut: boolean } {
  const pieces = said.toString('utf8').split('\0');
  const named = pieces.slice(0, -2).flatMap((piece) => {
    const kind = KINDS[piece.charAt(0)];
    return kind === undefined || piece.length === 1 ? [] : [{ kind, name: piece.slice(1) }];
  });
  const byBytes = named.toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  const lines = (pieces.at(-1) ?? '').split('\n').slice(0, -1);
  const entries = byBytes.map(({ name, kind }, at) => {
    const size = lines.length === byBytes.length && kind === 'file' ? sizeOf(lines[at]) : undefined;
    return { name, kind, size };
  });
  return { entries, isCut: pieces.at(-2) === 'full' };
}

/** Of a line of `ls -ln`: mode, links, user, group, size. */
function sizeOf(line: string | undefined): number | undefined {
  const size = /^-\S+\s+\d+\s+\d+\s+\d+\s+(\d{1,15})\s/.exec(line ?? '')?.[1];
  return size === undefined ? undefined : Number(size);
}
