import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { type ErrorCode, PortholeError } from '../errors.ts';
import type { ExecProcess, SandboxProvider } from '../ports/sandbox-provider.ts';
import { resolveWorkspacePath } from '../rules/workspace-path.ts';

/**
 * Files through nothing but a POSIX shell in the sandbox, so that every provider and image has them. `$1` is the path below the workspace. Symbolic links are
 * resolved there, and refused when they leave the workspace. Judged is what has been opened or entered, not its name, so that nobody can swap a folder for a link in between.
 */
const PROLOGUE = `
cd -P -- "\${WORKSPACE:-/workspace}" || exit 70
root=$PWD
inside() { case "$1/" in "$root"/*) ;; *) exit 43 ;; esac }
`;

const READ = `${PROLOGUE}
file=./$1
[ -e "$file" ] || exit 44
[ -d "$file" ] && exit 45
[ -f "$file" ] || exit 47
exec 3< "$file" || exit 46
if [ -e /proc/self/fd/3 ]; then real=$(readlink /proc/self/fd/3); else real=$(readlink -f -- "$file"); fi
inside "$real"
echo ready >&2
exec cat <&3
`;

/** `$2` is a name that nobody knows. Missing folders are made on the way, each from within the one above. */
const WRITE = `${PROLOGUE}
rest=$1
while :; do
  case "$rest" in */*) part=\${rest%%/*} rest=\${rest#*/} ;; *) break ;; esac
  [ -d "./$part" ] || mkdir -- "./$part" || exit 46
  cd -P -- "./$part" || exit 46
  inside "$PWD"
done
if [ -L "./$rest" ]; then
  [ -d "./$rest" ] && exit 45
  target=$(readlink -f -- "./$rest") || exit 43
  inside "$target"
  rest=\${target##*/}
  cd -P -- "\${target%/*}" || exit 46
  inside "$PWD"
fi
[ -n "$rest" ] && [ ! -d "./$rest" ] || exit 45
umask 022
temp=./.porthole-$2
trap 'rm -f -- "$temp"' EXIT
trap 'exit 46' HUP INT TERM
set -C
exec 4> "$temp" || exit 46
echo ready >&2
cat >&4 || exit 46
[ ! -x "./$rest" ] || chmod 0755 -- "$temp"
mv -fT -- "$temp" "./$rest" || exit 46
`;

/** What the scripts exit with → how a caller is told. */
const FAILURES: Record<number, (path: string) => PortholeError> = {
  43: () => new PortholeError('path_outside_workspace', 'path must resolve to a location within /workspace'),
  44: (path) => new PortholeError('workspace_read_not_found', `File not found: ${path}`),
  45: (path) => new PortholeError('invalid_request', `${path} is a directory: name a file in it.`),
  47: (path) => new PortholeError('invalid_request', `${path} is no regular file: only those can be read.`),
};

export interface FileDeps {
  readonly provider: SandboxProvider;
}

/**
 * The bytes of a file, as they come. Resolves once the file is open, so that a missing one is an error and not an empty stream.
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`, `exec_transport_error`
 */
export async function readWorkspaceFile(
  { provider }: FileDeps,
  sandboxId: string,
  path: string,
  signal?: AbortSignal,
): Promise<Readable> {
  const absolute = resolveWorkspacePath(path, 'path');
  const process = await provider.exec(sandboxId, { argv: ['sh', '-c', READ, 'sh', below(absolute)] }, signal);
  const script = watch(process);
  if (!(await script.ready)) {
    process.stdout.resume();
    throw await script.failure(absolute, 'exec_transport_error', 'read failed');
  }
  // Ended early (the reader went away): nothing must be left running.
  process.stdout.once('close', () => process.kill('SIGKILL'));
  return process.stdout;
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
  // Without the signal: it would kill the script before its trap has removed the temporary file.
  const process = await provider.exec(sandboxId, {
    argv: ['sh', '-c', WRITE, 'sh', below(absolute), randomBytes(8).toString('hex')],
    stdin: true,
  });
  process.stdout.resume();
  const script = watch(process);
  const failure = () => script.failure(absolute, 'workspace_archive_write_error', 'write failed');
  if (!(await script.ready)) throw await failure();
  if (process.stdin === null) throw new TypeError('exec was asked for stdin and gave none');
  try {
    if (!(await feed(content, process.stdin, signal))) throw await failure();
  } catch (error) {
    await endScript(process);
    throw error;
  }
  if ((await process.exited).code !== 0) throw await failure();
}

/**
 * Copies with back-pressure, and ends the target only when the source has ended well: an end is what makes the file, so a broken upload
 * must never look like one (which is why this is no `pipeline`). False when the target took no more, because the writer in the sandbox has ended: its disk
 * is full, or somebody killed it.
 */
async function feed(content: Readable, target: Writable, signal: AbortSignal | undefined): Promise<boolean> {
  const gone = new AbortController();
  target.once('error', () => gone.abort());
  target.once('close', () => gone.abort());
  const over = signal === undefined ? gone.signal : AbortSignal.any([gone.signal, signal]);
  const leave = () => content.destroy(signal?.aborted === true ? abortError(signal) : undefined);
  over.addEventListener('abort', leave, { once: true });
  try {
    for await (const chunk of content) {
      if (over.aborted) break;
      if (!target.write(chunk)) await once(target, 'drain', { signal: over });
    }
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  } finally {
    over.removeEventListener('abort', leave);
  }
  signal?.throwIfAborted();
  if (gone.signal.aborted) return false;
  target.end();
  return true;
}

function abortError(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal.reason });
}

/** Enough for a shell to run its trap. */
const GRACE_MS = 2_000;

/** SIGTERM first: the script's trap removes the temporary file. */
async function endScript(process: ExecProcess): Promise<void> {
  process.kill('SIGTERM');
  const grace = setTimeout(() => process.kill('SIGKILL'), GRACE_MS);
  await process.exited.catch(() => undefined);
  clearTimeout(grace);
}

function below(absolute: string): string {
  return absolute.slice('/workspace'.length).replace(/^\//, '');
}

/** One of the scripts, as it runs. */
interface Script {
  /** True once it says that the file is open; false when it ended without saying so. */
  readonly ready: Promise<boolean>;
  /** Why it failed, once it has ended: by its exit code, else in the words of the sandbox's own tools. */
  failure(path: string, code: ErrorCode, what: string): Promise<Error>;
}

/** More than any tool has to say about one file. */
const MAX_WORDS = 4_096;

function watch(process: ExecProcess): Script {
  const { promise: ready, resolve } = Promise.withResolvers<boolean>();
  let said = '';
  process.stderr.setEncoding('utf8');
  process.stderr.on('data', (chunk: string) => {
    if (said.length < MAX_WORDS) said += chunk;
    if (said.includes(READY)) resolve(true);
  });
  process.stderr.once('close', () => resolve(false));
  process.stderr.once('end', () => resolve(false));
  return {
    ready,
    async failure(path, code, what) {
      const exit = await process.exited.catch((error: unknown) => error as Error);
      if (exit instanceof Error) return exit;
      const known = FAILURES[exit.code ?? -1];
      if (known !== undefined) return known(path);
      // The tool's own reason follows the last colon of its last line: "cat: write error: No space left on device".
      const reason = said.replace(READY, '').trim().split('\n').at(-1)?.split(': ').at(-1)?.slice(0, 200);
      return new PortholeError(code, `${what}: ${path}: ${reason || `exit ${exit.code ?? exit.signal}`}`);
    },
  };
}

const READY = 'ready\n';
