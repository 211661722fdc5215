import type { Readable } from 'node:stream';
import { PortholeError } from '#base/errors.ts';
import type { ExecCommand, ExecExit, Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { RunningCommand } from './execute-command.ts';

/** Bytes kept of each stream. */
const MAX_STREAM_BYTES = 1_048_576;

/** A command that has ended. */
interface CollectedCommand {
  /** 0–255; 128 + n after signal n; 124 after the time limit. */
  readonly exitCode: number;
  /** The beginning of its output, as text; bytes that are not UTF-8 become U+FFFD. */
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  /** Whether either stream had more than is kept. */
  readonly truncated: boolean;
}

/**
 * Waits for the end of a command and keeps the first MiB of each of its streams. The rest is read
 * and dropped, so that the command can end.
 * @throws PortholeError `exec_transport_error` when the connection is lost
 */
export async function collectCommand(command: RunningCommand): Promise<CollectedCommand> {
  const { process, exitCode, timedOut } = command;
  const outputs = Promise.all([beginning(process.stdout), beginning(process.stderr)]);
  // A lost connection also rejects the exit code, which reports it.
  outputs.catch(() => undefined);
  const code = await exitCode;
  const [stdout, stderr] = await outputs;
  return {
    exitCode: code,
    stdout: stdout.text,
    stderr: stderr.text,
    timedOut: timedOut(),
    truncated: stdout.isCut || stderr.isCut,
  };
}

async function beginning(stream: Readable): Promise<{ readonly text: string; readonly isCut: boolean }> {
  const kept: Buffer[] = [];
  let seen = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const room = MAX_STREAM_BYTES - seen;
    if (room > 0) kept.push(chunk.subarray(0, room));
    seen += chunk.length;
  }
  const isCut = seen > MAX_STREAM_BYTES;
  // A character that the limit cuts in two is left out, not replaced.
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(kept), { stream: isCut });
  return { text, isCut };
}

/** Why `guest/sessions.bash` could not enter the folder; undefined for any other exit code. */
export function exitOfEntering(code: number | undefined, folder: string): PortholeError | undefined {
  if (code === 71) return new PortholeError('exec_error', `cwd does not exist: ${folder}`);
  if (code === 72) {
    return new PortholeError('path_outside_workspace', 'cwd must resolve to a location within /workspace');
  }
  return undefined;
}

/** Runs an internal command, drops its output and waits for its end; kills it after `withinMs`. */
export async function runToEnd(
  sandboxes: Pick<Sandboxes, 'exec'>,
  sandboxId: string,
  command: ExecCommand,
  signal?: AbortSignal,
  withinMs?: number,
): Promise<ExecExit> {
  const process = await sandboxes.exec(sandboxId, command, signal);
  process.stdout.resume();
  process.stderr.resume();
  if (withinMs === undefined) return process.exited;
  const late = setTimeout(() => process.kill('SIGKILL'), withinMs);
  return process.exited.finally(() => clearTimeout(late));
}
