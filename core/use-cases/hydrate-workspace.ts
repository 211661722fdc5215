import { randomBytes } from 'node:crypto';
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { PortholeError } from '../errors.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { leavesWorkspace, type Remembered } from '../rules/archive/archive-tree.ts';
import type { TarHeader } from '../rules/archive/tar-header.ts';
import { unpackInGuest } from './guest-files.ts';
import { validatedBytes } from './validated-tar.ts';
import { feedScript, IN_WORKSPACE } from './workspace-script.ts';

/**
 * Keeps the archive in a new file (`$1`), up to the end of its input. Its last line is `whole`: without it the sender has gone, or has refused the archive, and nothing happens. It is unpacked into a new
 * folder (`$2`), where no link is on the way of anything, and only then moved to where it belongs, each file from within its folder: so an archive that cannot be unpacked changes nothing, and nobody can swap a folder for
 * a link while it is. A folder that is new is moved as a whole. One that is there keeps its mode, for it may belong to somebody else; where it is a link that leaves the workspace, that is found before anything is moved (`walk look`), and
 * again at that moment. Files that came in several pieces (`$3`, see `HydrateOptions`) are put together before.
 */
const HYDRATE = `${IN_WORKSPACE}
temp=./.porthole-$1 stage=$root/.porthole-$2
trap 'trap "" HUP INT TERM; rm -f -- "$temp"; [ ! -d "$stage" ] || { chmod -R u+rwx -- "$stage"; rm -rf -- "$stage"; } 2>/dev/null' EXIT
trap 'exit 46' HUP INT TERM
umask 077
set -C
exec 4> "$temp" || exit 46
[ -f "$temp" ] && [ ! -L "$temp" ] || exit 46
echo ready >&2
cat >&4 || exit 46
exec 4>&-
[ "$(tail -c 6 -- "$temp")" = whole ] || exit 46
mkdir -- "./.porthole-$2" || exit 46
umask 022
( cd -P -- "./.porthole-$2" || exit 46
  arrived
  tar -xof "../.porthole-$1" || { echo "tar extract failed (exit $?)" >&2; exit 48; } ) || exit
rm -f -- "$temp"
taken=48 uploads=$3
if [ -n "$uploads" ]; then
  taken=53
  for pieces in "$stage/.porthole-$3"/*; do
    piece=1
    while [ -f "$pieces/$piece" ]; do
      cat -- "$pieces/$piece" >> "$pieces/to" || exit 46
      rm -f -- "$pieces/$piece"
      piece=$((piece + 1))
    done
  done
  rm -rf -- "$stage/.porthole-$3"
fi

walk() {
  [ -w "$2" ] && [ -x "$2" ] && [ -r "$2" ] || chmod u+rwx -- "$2" || return 46
  how=$1 from=$2
  set --
  for entry in "$from"/* "$from"/.[!.]* "$from"/..?*; do
    if [ -d "$entry" ] && [ ! -L "$entry" ]; then folder "$how" "$entry" || return
    elif [ -e "$entry" ] || [ -L "$entry" ]; then
      name=./\${entry##*/}
      if [ -d "$name" ] && [ ! -L "$name" ]; then echo "$name: a folder is there already" >&2; return "$taken"; fi
      [ "$how" = move ] || continue
      set -- "$@" "$entry"
      [ $# -lt 200 ] || { mv -f -- "$@" . || return 46; set --; }
    fi
  done
  [ $# -eq 0 ] || mv -f -- "$@" . || return 46
}
folder() {
  name=./\${2##*/}
  if [ -d "$name" ]; then
    ( cd -P -- "$name" || exit 46; arrived; walk "$1" "$2" )
  elif [ "$1" = look ]; then
    # Tar takes a file away where a folder comes; whoever uploads files would lose it without a word.
    [ -z "$uploads" ] || { [ ! -e "$name" ] && [ ! -L "$name" ]; } || return "$taken"
  elif [ "$1" = move ]; then
    [ ! -e "$name" ] && [ ! -L "$name" ] || rm -f -- "$name"
    if [ -w "$2" ]; then mv -fT -- "$2" "$name" || return 46
    else chmod u+w -- "$2" && mv -fT -- "$2" "$name" && chmod u-w -- "$name" || return 46; fi
  fi
}
walk look "$stage" && walk move "$stage"
`;

export interface HydrateOptions {
  /** @default all */
  readonly remembers?: Remembered;
  /** 16 hex that nobody else knows. In the folder `.porthole-<these>` of the archive there is a folder for each file that comes in pieces: `to`, a hard link to the file, and `1`, `2`, …, which are appended to it. */
  readonly pieces?: string;
}

/**
 * Symbolic links of an archive that lead out of the workspace. They are made as they are, and never
 * followed; what they lead to may not be there.
 */
export interface OutsideLinks {
  /** The first of them. */
  readonly links: readonly { readonly path: string; readonly target: string }[];
  readonly total: number;
}

/** Of the links that are named: how many, and how many bytes of names. */
const MOST_LINKS = 1_000;
const MOST_LINK_BYTES = 262_144;

/**
 * Unpacks a plain tar over the workspace: files that are there already are replaced, others stay. It is read to its end and judged before anything of it is unpacked.
 * @throws PortholeError `invalid_request` for one that is refused, `path_outside_workspace` where it would go through a link of the workspace that leaves it,
 *   `workspace_archive_write_error`, or the stream's own error
 */
export async function hydrateWorkspace(
  { provider }: { readonly provider: Pick<SandboxProvider, 'exec' | 'callGuest'> },
  sandboxId: string,
  content: Readable,
  { remembers = 'all', pieces = '' }: HydrateOptions = {},
  signal?: AbortSignal,
): Promise<OutsideLinks> {
  signal?.throwIfAborted();
  if (provider.callGuest !== undefined) {
    return (await unpackInGuest(provider, sandboxId, content, remembers, signal)).outside_links;
  }
  const names = [randomBytes(8).toString('hex'), randomBytes(8).toString('hex')];
  // Without the signal: it would kill the script before its trap has removed the file.
  const process = await provider.exec(sandboxId, {
    argv: ['sh', '-c', HYDRATE, 'sh', ...names, pieces],
    stdin: true,
  });
  const outside = { links: [] as OutsideLinks['links'][number][], total: 0 };
  let bytes = 0;
  const seen = (entry: TarHeader) => {
    if (entry.type !== 'symlink' || !leavesWorkspace(entry)) return;
    outside.total += 1;
    bytes += entry.name.length + entry.linkName.length;
    if (outside.links.length === MOST_LINKS || bytes > MOST_LINK_BYTES) return;
    const [path = '', target = ''] = [posix.join('/workspace', entry.name), entry.linkName].map((name) =>
      Buffer.from(name, 'latin1').toString('utf8'),
    );
    outside.links.push({ path, target });
  };
  await feedScript(
    process,
    Readable.from(validated(content, remembers, seen)),
    (script) => script.failure('/workspace', 'workspace_archive_write_error', 'hydrate failed'),
    signal,
  );
  return outside;
}

async function* validated(
  content: AsyncIterable<Buffer>,
  remembers: Remembered,
  seen: (entry: TarHeader) => void,
): AsyncGenerator<Buffer> {
  async function* some(): AsyncGenerator<Buffer> {
    let isEmpty = true;
    for await (const chunk of content) {
      isEmpty &&= chunk.length === 0;
      yield chunk;
    }
    if (isEmpty) throw new PortholeError('invalid_request', 'Empty tar payload');
  }
  yield* validatedBytes(some(), { remembers }, undefined, seen);
  // Behind the end of the archive, where no tar reads it.
  yield Buffer.from('whole\n');
}
