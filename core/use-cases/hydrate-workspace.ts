import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { PortholeError } from '../errors.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { TarJudge } from '../rules/archive/tar-judge.ts';
import { endScript, feed, IN_WORKSPACE, watchScript } from './workspace-script.ts';

/**
 * Keeps the archive in a file that nobody knows ($1), up to the end of its input. Behind the archive come the folders that its entries lie in, each with a zero byte, and a last line with the
 * archive's length: without that line the sender has gone or refused it, and nothing happens. Folders that are links already must not leave the workspace. Folders that are there
 * keep their modes: the workspace itself may belong to somebody else.
 */
const HYDRATE = `${IN_WORKSPACE}
umask 077
temp=./.porthole-$1
trap 'rm -f -- "$temp"' EXIT
trap 'exit 46' HUP INT TERM
set -C
exec 4> "$temp" || exit 46
echo ready >&2
cat >&4 || exit 46
exec 4>&-
length=$(tail -c 17 -- "$temp")
[[ $length =~ ^[0-9]{16}$ ]] || exit 46
while IFS= read -r -d '' folder; do
  [ -L "./$folder" ] || continue
  real=$(readlink -f -- "./$folder") || exit 43
  inside "$real"
done < <(tail -c "+$((10#$length + 1))" -- "$temp")
umask 022
keep=
case "$(tar --help 2>&1)" in *no-overwrite-dir*) keep=--no-overwrite-dir ;; esac
tar -xo $keep -f "$temp" || { echo "tar extract failed (exit $?)" >&2; exit 48; }
`;

/** How an archive ends (POSIX): two blocks of zeros. Appended in any case, so that tar does not read what follows. */
const END_OF_ARCHIVE = Buffer.alloc(1_024);

/**
 * Unpacks a plain tar over the workspace: files that are there already are replaced, others stay. It is read to its end and judged before anything of it is unpacked.
 * @throws PortholeError `invalid_request` for one that is refused, `path_outside_workspace` where it would go through a link of the workspace that leaves it,
 *   `workspace_archive_write_error`, or the stream's own error
 */
export async function hydrateWorkspace(
  { provider }: { readonly provider: Pick<SandboxProvider, 'exec'> },
  sandboxId: string,
  content: Readable,
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted();
  // Without the signal: it would kill the script before its trap has removed the file.
  const process = await provider.exec(sandboxId, {
    argv: ['bash', '-c', HYDRATE, 'bash', randomBytes(8).toString('hex')],
    stdin: true,
  });
  process.stdout.resume();
  const script = watchScript(process);
  const failure = () => script.failure('/workspace', 'workspace_archive_write_error', 'hydrate failed');
  if (!(await script.ready)) throw await failure();
  if (process.stdin === null) throw new TypeError('exec was asked for stdin and gave none');
  try {
    if (!(await feed(Readable.from(judged(content)), process.stdin, signal))) throw await failure();
  } catch (error) {
    await endScript(process);
    throw error;
  }
  if ((await process.exited).code !== 0) throw await failure();
}

async function* judged(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const judge = new TarJudge();
  let length = 0;
  for await (const chunk of content) {
    judge.push(chunk);
    length += chunk.length;
    yield chunk;
  }
  if (length === 0) throw new PortholeError('invalid_request', 'Empty tar payload');
  judge.end();
  yield END_OF_ARCHIVE;
  const folders = [...judge.folders].map((folder) => `${folder}\0`).join('');
  const end = String(length + END_OF_ARCHIVE.length).padStart(16, '0');
  yield Buffer.from(`${folders}${end}\n`, 'latin1');
}
