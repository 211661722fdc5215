import { PassThrough, pipeline, type Readable } from 'node:stream';
import { newDetailId } from '#protocol/guest/details-protocol.ts';
import { exitCodeOfSignal } from '#protocol/guest/signals.ts';
import { PortholeError } from '#base/errors.ts';
import { resolveWorkspacePath } from '#base/workspace-path.ts';
import type { ExecCommand, ExecProcess, Sandboxes } from '../sandboxes/sandbox-provider.ts';
import { exitOfEntering } from './collect-command.ts';
import { checkSessionId } from './exec-sessions.ts';

/**
 * Characters that the bridge does not quote. The underscore is deliberately missing: clients
 * compare the quoted form.
 */
const SAFE = /^[A-Za-z0-9@%+=:,./-]+$/;
const ESCAPES: Record<string, string> = { '\\': '\\\\', "'": "\\'", '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** One word of a shell command, in the bridge's ANSI-C `$'…'` quoting (bash). */
export function shellQuote(word: string): string {
  if (SAFE.test(word)) return word;
  return `$'${word.replace(/[\\'\n\r\t]/g, (char) => ESCAPES[char] as string)}'`;
}

/**
 * `argv` as one command line for `bash -c`; builtins and assignments work, as they do on the
 * bridge.
 */
export function shellCommand(argv: readonly string[]): string {
  return argv.map(shellQuote).join(' ');
}

/** More than any shell prints before it begins. */
const MAX_PREAMBLE_BYTES = 64 * 1024;

/**
 * Reads a stream up to a mark and removes the mark. `rest` is everything else, before and after it;
 * `seen` what was read. Not found: the stream ended, failed or exceeded the limit first.
 */
async function readUntilMark(
  stream: Readable,
  mark: string,
): Promise<{ readonly found: boolean; readonly seen: Buffer; readonly rest: Readable }> {
  let seen: Buffer = Buffer.alloc(0);
  const found = await new Promise<boolean>((resolve) => {
    const settle = (result: boolean) => {
      stream.off('readable', look);
      stream.off('end', ended);
      stream.off('close', ended);
      resolve(result);
    };
    const ended = () => settle(false);
    const look = () => {
      for (
        let chunk = stream.read() as Buffer | null;
        chunk !== null;
        chunk = stream.read() as Buffer | null
      ) {
        seen = Buffer.concat([seen, chunk]);
        const at = seen.indexOf(mark);
        if (at >= 0) {
          seen = Buffer.concat([seen.subarray(0, at), seen.subarray(at + mark.length)]);
          return settle(true);
        }
        if (seen.length > MAX_PREAMBLE_BYTES) return settle(false);
      }
    };
    stream.on('readable', look);
    stream.on('end', ended);
    stream.on('close', ended);
    look();
  });
  const rest = new PassThrough();
  if (seen.length > 0) rest.write(seen);
  if (stream.readableEnded) rest.end();
  // An error of the stream destroys `rest`, which reports it.
  else pipeline(stream, rest, () => undefined);
  return { found, seen, rest };
}

interface CommandRequest {
  readonly argv: readonly string[];
  /** Milliseconds; undefined means no limit. */
  readonly timeoutMs?: number | undefined;
  readonly cwd?: string | undefined;
  /** The session to load the working directory and environment from, and store them to. */
  readonly sessionId?: string | undefined;
  /** The sandbox's own variables. An existing session uses its stored ones instead. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export interface RunningCommand {
  readonly process: ExecProcess;
  /** 0–255; 128 + n after signal n; 124 after the time limit. */
  readonly exitCode: Promise<number>;
  /** True once the time limit has passed. */
  readonly timedOut: () => boolean;
  /** The guest keeps its output under this id, with a line of this id before it in a session. */
  readonly detailId: string;
}

/** Between SIGTERM and SIGKILL. Below 5 s: clients give up 5 s after their own time limit. */
const GRACE_MS = 4_000;
/**
 * The longest that entering a session and a folder may take, in milliseconds: a process may have
 * replaced the session's state with a file that blocks.
 */
const ENTERS_WITHIN_MS = 10_000;
/** Exit code of `timeout(1)`, and of the bridge. */
const TIMED_OUT = 124;

/**
 * Runs argv through `bash -c`, quoted word by word, so that builtins work and nothing is injected.
 * Aborting `signal` (the client went away) kills the command's process group.
 * @throws PortholeError `path_outside_workspace`, `invalid_request`, `exec_error` if `cwd` does not
 * exist, and the errors of `exec`
 */
export async function executeCommand(
  { sandboxes }: { readonly sandboxes: Sandboxes },
  sandboxId: string,
  { argv, timeoutMs, cwd, sessionId, env }: CommandRequest,
  signal?: AbortSignal,
): Promise<RunningCommand> {
  if (argv.some((word) => word.includes('\0'))) {
    throw new PortholeError('invalid_request', 'argv must not contain a NUL character');
  }
  const folder = cwd === undefined ? '' : resolveWorkspacePath(cwd, 'cwd');
  const session = sessionId === undefined ? '' : checkSessionId(sessionId);
  const line = shellCommand(argv);
  const detailId = newDetailId();
  const start = (command: ExecCommand) => sandboxes.exec(sandboxId, { ...command, env, detailId }, signal);
  const process =
    folder === '' && session === ''
      ? await start({ argv: ['bash', '-c', '--', line] })
      : await startEntered(start, detailId, { folder, session, line });
  let timedOut = false;
  let grace: NodeJS.Timeout | undefined;
  const limit =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => {
          timedOut = true;
          process.kill('SIGTERM');
          grace = setTimeout(() => process.kill('SIGKILL'), GRACE_MS);
        }, timeoutMs);
  const exitCode = process.exited
    .then((exit) => (timedOut ? TIMED_OUT : (exit.code ?? exitCodeOfSignal(exit.signal ?? ''))))
    .finally(() => {
      clearTimeout(limit);
      clearTimeout(grace);
    });
  // Callers may read only the output: avoids an unhandled rejection.
  exitCode.catch(() => undefined);
  return { process, exitCode, timedOut: () => timedOut, detailId };
}

/**
 * Resolves once the command itself begins. Rejects if its folder does not exist.
 * @param mark unguessable: the line on stderr after which the command begins
 */
async function startEntered(
  start: (command: ExecCommand) => Promise<ExecProcess>,
  mark: string,
  { folder, session, line }: { readonly folder: string; readonly session: string; readonly line: string },
): Promise<ExecProcess> {
  const process = await start({
    script: 'sessions',
    argv: ['bash', 'run', mark, folder, session, line],
    stdin: true,
  });
  const late = setTimeout(() => process.kill('SIGKILL'), ENTERS_WITHIN_MS);
  const { found, seen, rest } = await readUntilMark(process.stderr, `${mark}\n`).finally(() =>
    clearTimeout(late),
  );
  const entered: ExecProcess = {
    stdin: null,
    stdout: process.stdout,
    stderr: rest,
    exited: process.exited,
    kill: (signal) => process.kill(signal),
    resize: (cols, rows) => process.resize(cols, rows),
  };
  if (found) {
    process.stdin?.end('\n');
    return entered;
  }
  const exit = await process.exited;
  if (exit.code === 127 && seen.includes(NO_SCRIPT)) throw olderGuest();
  // The image has no bash: the runtime's message is the output.
  if (exit.code === 126 || exit.code === 127) return entered;
  process.stdout.destroy();
  rest.destroy();
  throw exitOfEntering(exit.code, folder) ?? notEntered(session);
}

/** A guest that does not know scripts calls bash with the script's arguments. */
const NO_SCRIPT = 'run: No such file or directory';

function olderGuest(): PortholeError {
  return new PortholeError(
    'exec_error',
    'This sandbox was started with an older version of Porthole, which supports neither cwd nor sessions.',
    { remedy: 'Build its image with the guest of this version, then stop and resume it.' },
  );
}

/** An error whatever the exit code: the command has not run. */
function notEntered(session: string): PortholeError {
  return new PortholeError(
    'exec_error',
    `Session '${session}' cannot be used: its files in the sandbox were changed.`,
    { remedy: 'Delete the session.' },
  );
}
