import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { PortholeError } from '../errors.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { belowWorkspace, resolveWorkspacePath } from '../rules/workspace-path.ts';
import { openGuestFile, writeGuestFile } from './guest-files.ts';
import { outputOf, takeLine } from './output-of.ts';
import { isConnectionLost, readAgain } from './read-again.ts';
import { feedScript, IN_WORKSPACE, opensInTime, watchScript } from './workspace-script.ts';

/**
 * Files through nothing but a POSIX shell in the sandbox, so that every provider and image has them. `$1` is the path below the workspace. Symbolic links are
 * resolved there, and refused when they leave the workspace. Judged is what has been opened or entered, not its name, so that nobody can swap a folder for a link in between.
 */

/**
 * Prints `ready`, the size of the opened file and what identifies its content, and then its bytes
 * from `$2` on. Without `stat` it prints neither: then nothing but the end
 * of the command shows that the file is complete.
 */
const READ = `${IN_WORKSPACE}
file=./$1
[ -e "$file" ] || exit 44
[ -d "$file" ] && exit 45
[ -f "$file" ] || exit 47
exec 3< "$file" || exit 46
if [ -e /proc/self/fd/3 ]; then
  real=$(readlink /proc/self/fd/3)
  inside "$real"
  lent "$real"
  [ -f /proc/self/fd/3 ] || exit 47
else
  real=$(readlink -f -- "$file")
  inside "$real"
  lent "$real"
fi
echo "ready $(stat -L -c '%s %d:%i:%y:%z' /proc/self/fd/3 2>/dev/null)"
[ "$2" = 0 ] || exec tail -c "+$(($2 + 1))" <&3
exec cat <&3
`;

/**
 * `$2` is a name that nobody knows. Missing folders are made on the way, each from within the one above. Links to files are followed one by one, at most as many as Linux follows: `readlink -f` of a link that goes through itself
 * never ends.
 */
const WRITE = `${IN_WORKSPACE}
rest=$1
while :; do
  case "$rest" in */*) part=\${rest%%/*} rest=\${rest#*/} ;; *) break ;; esac
  [ -d "./$part" ] || { lent "$here/$part" way; mkdir -- "./$part" 2>/dev/null || [ -d "./$part" ]; } || {
    [ ! -e "./$part" ] && [ ! -L "./$part" ] || exit 49
    exit 46
  }
  cd -P -- "./$part" || exit 46
  arrived
done
hops=0
while [ -L "./$rest" ]; do
  [ ! -d "./$rest" ] || exit 45
  hops=$((hops + 1))
  [ $hops -le 40 ] || exit 43
  target=$(readlink -n -- "./$rest" && echo .) || exit 46
  target=\${target%.} rest=\${target##*/}
  case "$target" in
    */*) cd -P -- "\${target%/*}/" || exit 43
      arrived ;;
  esac
done
[ -n "$rest" ] && [ ! -d "./$rest" ] || exit 45
lent "$here/$rest"
umask 022
temp=./.porthole-$2
trap 'trap "" HUP INT TERM; rm -f -- "$temp"' EXIT
trap 'exit 46' HUP INT TERM
set -C
exec 4> "$temp" || exit 46
[ -f "$temp" ] && [ ! -L "$temp" ] || exit 46
echo ready >&2
cat >&4 || exit 46
[ ! -x "./$rest" ] || chmod 0755 -- "$temp"
mv -fT -- "$temp" "./$rest" || exit 46
`;

export interface FileDeps {
  readonly provider: SandboxProvider;
}

/** A file that is open for reading. */
export interface WorkspaceFile {
  /** Fails unless the file arrives whole. */
  readonly content: Readable;
  /** In bytes, when it was opened; undefined where the sandbox cannot tell it. */
  readonly size: number | undefined;
}

/**
 * The bytes of a file, as they come. Resolves once the file is open, so that a missing one is an
 * error and not an empty stream. Where the connection breaks, it goes on from
 * where it was, as long as the file is unchanged. Of a file that grows meanwhile, the bytes that it
 * had when it was opened are read.
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`, `exec_transport_error`
 */
export async function readWorkspaceFile(
  deps: FileDeps,
  sandboxId: string,
  path: string,
  signal?: AbortSignal,
): Promise<WorkspaceFile> {
  const absolute = resolveWorkspacePath(path, 'path');
  const open = (from: number) =>
    readAgain(() => openFile(deps, sandboxId, absolute, from, signal), signal).then(({ file, refused }) => {
      if (file === undefined) throw refused;
      return file;
    });
  let file = await open(0);
  const { size, version } = file;

  async function* read(): AsyncGenerator<Buffer, void, undefined> {
    for (let at = 0, resumedAt = -1; ; ) {
      try {
        for await (const chunk of file.bytes as AsyncIterable<Buffer>) {
          const piece = size === undefined ? chunk : chunk.subarray(0, size - at);
          at += piece.length;
          yield piece;
          if (piece.length < chunk.length) return;
        }
        if (size === undefined || at === size) return;
        throw new PortholeError(
          'exec_transport_error',
          `read failed: ${absolute}: ${at} of ${size} bytes. It became shorter while it was read: read it again.`,
        );
      } catch (error) {
        if (at === size) return;
        const failed = file.lost?.(error) ?? error;
        if (size === undefined || resumedAt === at || !isConnectionLost(failed) || file.bytes.readableEnded)
          throw failed;
        resumedAt = at;
        file = await open(at);
        if (content.destroyed || file.version !== version) {
          file.bytes.destroy();
          throw failed;
        }
      }
    }
  }

  const content = Readable.from(read(), { objectMode: false });
  // Without a listener an error would end the host; the reader gets it all the same.
  content.on('error', () => undefined);
  // The generator may be waiting for bytes that never come.
  content.once('close', () => file.bytes.destroy());
  return { content, size };
}

interface OpenedFile {
  readonly bytes: Readable;
  readonly size: number | undefined;
  /** Unchanged as long as the file is not written to. */
  readonly version: string;
  /** What a failure of `bytes` means. */
  readonly lost?: (cause: unknown) => PortholeError;
}

/**
 * Opens a file and skips its first bytes. Throws only where the sandbox cannot be reached;
 * `refused` is what is wrong with the file.
 */
async function openFile(
  { provider }: FileDeps,
  sandboxId: string,
  absolute: string,
  from: number,
  signal: AbortSignal | undefined,
): Promise<
  | { readonly file: OpenedFile; readonly refused?: undefined }
  | { readonly file?: undefined; readonly refused: Error }
> {
  if (provider.callGuest !== undefined) {
    return { file: await openGuestFile(provider, sandboxId, absolute, from, signal) };
  }
  const process = await provider.exec(
    sandboxId,
    { argv: ['sh', '-c', READ, 'sh', belowWorkspace(absolute), String(from)] },
    signal,
  );
  const script = watchScript(process);
  // Its first words come on the way of the bytes: on another way they could be overtaken, and never be heard of once the bytes have filled theirs.
  let line: string | undefined;
  await opensInTime(
    process,
    takeLine(process.stdout).then((taken) => (line = taken) !== undefined),
  );
  const [, size, version] = /^ready (?:(\d{1,15}) (.+))?$/.exec(line ?? '') ?? [];
  if (line === undefined || !line.startsWith('ready ')) {
    process.stdout.resume();
    // Rejects where the connection broke.
    await process.exited;
    return { refused: await script.failure(absolute, 'exec_transport_error', 'read failed') };
  }
  const bytes = outputOf(
    process,
    ({ code, signal: killed }) =>
      new PortholeError('exec_transport_error', `read failed: ${absolute}: exit ${code ?? killed}`),
  );
  return { file: { bytes, size: size === undefined ? undefined : Number(size), version: version ?? '' } };
}

/**
 * Writes a file from a stream, whole or not at all: into a temporary file beside it, renamed at the end.
 * @throws PortholeError `path_outside_workspace`, `invalid_request`, `workspace_archive_write_error`, or the stream's own error
 */
export async function writeWorkspaceFile(
  { provider }: FileDeps,
  sandboxId: string,
  path: string,
  content: Readable,
  signal?: AbortSignal,
): Promise<void> {
  const absolute = resolveWorkspacePath(path, 'path');
  signal?.throwIfAborted();
  if (provider.callGuest !== undefined) {
    return writeGuestFile(provider, sandboxId, absolute, content, signal);
  }
  // Without the signal: it would kill the script before its trap has removed the temporary file.
  const process = await provider.exec(sandboxId, {
    argv: ['sh', '-c', WRITE, 'sh', belowWorkspace(absolute), randomBytes(8).toString('hex')],
    stdin: true,
  });
  await feedScript(
    process,
    content,
    (script) => script.failure(absolute, 'workspace_archive_write_error', 'write failed'),
    signal,
  );
}
