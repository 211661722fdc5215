import type { Readable } from 'node:stream';
import type { RunningCommand } from './execute-command.ts';

/** What is kept of each stream, in bytes. */
const MOST = 1_048_576;

/** A command that has ended. */
export interface CollectedCommand {
  /** 0–255; 128 + n after signal n; 124 after the time limit. */
  readonly exitCode: number;
  /** The beginning of what it printed, as text: bytes that are no UTF-8 have become U+FFFD. */
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  /** Whether either of them had more than is kept. */
  readonly truncated: boolean;
}

/**
 * Waits for the end of a command and keeps the first MiB of each of its streams. The rest is read and dropped, so that the command can end.
 * @throws PortholeError `exec_transport_error` when the connection is lost
 */
export async function collectCommand({
  process,
  exitCode,
  timedOut,
}: RunningCommand): Promise<CollectedCommand> {
  const outputs = Promise.all([beginning(process.stdout), beginning(process.stderr)]);
  // A lost connection also rejects the exit code, which is where it is told.
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
    const room = MOST - seen;
    if (room > 0) kept.push(chunk.subarray(0, room));
    seen += chunk.length;
  }
  const isCut = seen > MOST;
  // A character that the cut goes through is left out, not replaced.
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(kept), { stream: isCut });
  return { text, isCut };
}
