import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { type ErrorCode, PortholeError } from '../errors.ts';
import type { ExecProcess } from '../sandboxes/sandbox-provider.ts';

/**
 * How every script begins: in the workspace. `inside PATH` refuses what is not below it, `lent
 * PATH` what is not lent to whoever asks, `arrived` a working directory that is neither below it
 * nor on the way to what is lent; `here` is where that is. Where a shell thinks that `cd -P` went
 * is not always where it is: bash resolves the links itself and only then goes there, and somebody
 * may swap a folder for a link in between. The kernel knows.
 */
export const IN_WORKSPACE = `
cd -P -- "\${WORKSPACE:-/workspace}" || exit 70
root=$PWD here=$PWD
inside() { case "$1/" in "$root"/*) ;; *) exit 43 ;; esac }
if [ -n "\${BASH_VERSION-}\${KSH_VERSION-}" ]; then where() { here=$(readlink /proc/self/cwd || pwd -P); }
else where() { here=$PWD; }
fi
arrived() { where; inside "$here"; lent "$here" way; }
lent() {
  [ -z "\${PORTHOLE_LENT_PATHS-}" ] || ( IFS='
'
    set -f
    for path in $PORTHOLE_LENT_PATHS; do
      path=$root\${path#/workspace}
      case "$1/" in "$path"/*) exit 0 ;; esac
      [ -z "\${2-}" ] || case "$path/" in "$1"/*) exit 0 ;; esac
    done
    exit 52 ) || exit 52
}
`;

/**
 * The environment variable with the folders and files, one a line, that a caller may reach of the
 * workspace; unset: all of it.
 */
export const DELEGATED_PATHS = 'PORTHOLE_LENT_PATHS';

/** What the scripts exit with → how a caller is told. */
const FAILURES: Record<number, (path: string) => PortholeError> = {
  43: () => new PortholeError('path_outside_workspace', 'path must resolve to a location within /workspace'),

  44: (path) => new PortholeError('workspace_read_not_found', `File not found: ${path}`),
  45: (path) => new PortholeError('invalid_request', `${path} is a directory: name a file in it.`),
  47: (path) => new PortholeError('invalid_request', `${path} is no regular file: only those can be read.`),
  49: (path) => new PortholeError('invalid_request', `${path} lies in a file: files lie in folders only.`),
  50: (path) => new PortholeError('invalid_request', `${path} is no directory: read it as a file.`),
  51: (path) => new PortholeError('workspace_read_not_found', `Folder not found: ${path}`),
  53: () =>
    new PortholeError(
      'invalid_request',
      'A file would replace a folder that is there, or lie in a file: remove that first.',
    ),
  52: () => new PortholeError('forbidden', 'path resolves to a location that this credential does not reach'),
};

/** Undefined for an exit code that says nothing about the path. */
function knownFailure(code: number | undefined, path: string): PortholeError | undefined {
  return FAILURES[code ?? -1]?.(path);
}

/**
 * Copies with back-pressure, and ends the target only when the source has ended well: an end is
 * what makes the file, so a broken upload must never look like one (which is why this is no
 * `pipeline`). False when the target took no more, because the writer in the sandbox has ended: its
 * disk is full, or somebody killed it.
 */
async function feed(content: Readable, target: Writable, signal: AbortSignal | undefined): Promise<boolean> {
  const gone = new AbortController();
  target.once('error', () => gone.abort());
  target.once('close', () => gone.abort());
  const over = signal === undefined ? gone.signal : AbortSignal.any([gone.signal, signal]);
  const leave = () => content.destroy(signal?.aborted === true ? abortError(signal) : undefined);
  over.addEventListener('abort', leave, { once: true });
  // It may fail when nobody waits for it any more.
  content.on('error', () => undefined);
  try {
    content.pipe(target, { end: false });
    // With the signal: one that is made of others closes only once the next piece has come, which
    // may be never.
    await finished(content, { writable: false, signal: over });
  } catch (error) {
    if (!over.aborted) throw error;
  } finally {
    over.removeEventListener('abort', leave);
    content.unpipe(target);
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
const AGAIN_MS = 100;

/**
 * SIGTERM first: the script's trap removes the temporary file. Again and again, because a shell
 * that is about to start a program when the first one comes waits for that program, which knows
 * nothing of it.
 */
async function endScript(process: ExecProcess): Promise<void> {
  process.kill('SIGTERM');
  const again = setInterval(() => process.kill('SIGTERM'), AGAIN_MS);
  const grace = setTimeout(() => process.kill('SIGKILL'), GRACE_MS);
  await process.exited.catch(() => undefined);
  clearInterval(again);
  clearTimeout(grace);
}

/**
 * The longest that opening a file may take, in milliseconds: a pipe that nobody writes to never
 * opens, a disk that hangs neither.
 */
const OPENS_WITHIN_MS = 10_000;

/**
 * What a script says once its file is open; one that is not open in time is ended, as if it had
 * failed.
 */
async function opensInTime(process: ExecProcess, opened: Promise<boolean>): Promise<boolean> {
  const late = setTimeout(() => process.kill('SIGKILL'), OPENS_WITHIN_MS);
  return opened.finally(() => clearTimeout(late));
}

/** One of the scripts, as it runs. */
interface Script {
  /** True once it says that the file is open; false when it ended without saying so. */
  readonly ready: Promise<boolean>;
  /**
   * Why it failed, once it has ended: by its exit code, else in the words of the sandbox's own
   * tools.
   */
  failure(path: string, code: ErrorCode, what: string): Promise<Error>;
}

/** More than any tool has to say about one file. */
const MAX_WORDS = 4_096;

function watchScript(process: ExecProcess): Script {
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
      if (exit.code === TAR_FAILED) {
        return new PortholeError(
          code,
          said.replace(READY, '').trim().split('\n').at(-1)?.slice(0, 300) ?? what,
        );
      }
      const known = knownFailure(exit.code, path);
      if (known !== undefined) return known;
      // The tool's own reason follows the last colon of its last line: "cat: write error: No space
      // left on device".
      const reason = said.replace(READY, '').trim().split('\n').at(-1)?.split(': ').at(-1)?.slice(0, 200);
      return new PortholeError(code, `${what}: ${path}: ${reason || `exit ${exit.code ?? exit.signal}`}`);
    },
  };
}

const READY = 'ready\n';
/** Then its last line says how, in the bridge's words. */
const TAR_FAILED = 48;

/**
 * Gives a script that writes its input all of `content`, once it says that it is ready, and waits
 * for its end. What fails, the content too, ends the script, which then leaves nothing behind.
 * @param failure what a script that failed means
 */
export async function feedScript(
  process: ExecProcess,
  content: Readable,
  failure: (script: Script) => Promise<Error>,
  signal?: AbortSignal,
): Promise<void> {
  process.stdout.resume();
  const script = watchScript(process);
  if (!(await opensInTime(process, script.ready))) throw await failure(script);
  if (process.stdin === null) throw new TypeError('exec was asked for stdin and gave none');
  try {
    if (!(await feed(content, process.stdin, signal))) throw await failure(script);
  } catch (error) {
    await endScript(process);
    throw error;
  }
  if ((await process.exited).code !== 0) throw await failure(script);
}
