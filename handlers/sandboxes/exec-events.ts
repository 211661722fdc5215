import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { PortholeError } from '#core/errors.ts';
import type { RunningCommand } from '#core/use-cases/execute-command.ts';

/** How long a stream may be silent, in milliseconds; 15 s are promised. */
const HEARTBEAT_MS = 14_000;

/** A comment (HTML standard, section 9.2.6): proxies see that the stream lives, clients do not see it. */
const HEARTBEAT = ':\n\n';

/** Read ahead of the client, in bytes of events: three pieces as they come from a pipe. */
const AHEAD = 256 * 1024;

/**
 * A running command as the bridge's event stream, with a comment now and then while it is silent. A reader that stops, stops the command; a reader that goes away ends it. What cannot be
 * known (a lost connection) is an `error`, never an exit code.
 */
export function execEvents(
  command: RunningCommand,
  timeoutMs: number | undefined,
  atExit: () => object = () => ({}),
): Readable {
  const { process } = command;
  const outputs = [process.stdout, process.stderr];
  const events = new Readable({
    highWaterMark: AHEAD,
    read: () => outputs.forEach((output) => output.resume()),
    destroy: (error, done) => {
      process.kill('SIGKILL');
      outputs.forEach((output) => output.destroy());
      done(error);
    },
  });
  const heartbeat = setInterval(() => {
    if (events.readableLength === 0) events.push(HEARTBEAT);
  }, HEARTBEAT_MS);
  heartbeat.unref();
  events.once('close', () => clearInterval(heartbeat));
  const forward = (event: 'stdout' | 'stderr', output: Readable) => {
    output.on('data', (chunk: Buffer) => {
      heartbeat.refresh();
      if (!events.push(outputFrame(event, chunk))) outputs.forEach((each) => each.pause());
    });
    // A lost connection also rejects the exit code, which is where it is told.
    output.on('error', () => undefined);
  };
  forward('stdout', process.stdout);
  forward('stderr', process.stderr);
  // The end may be known before the last output has been read; it is told after it.
  const drained = Promise.allSettled(outputs.map((output) => finished(output)));
  void Promise.all([lastFrames(command, timeoutMs, atExit), drained]).then(([frames]) => {
    clearInterval(heartbeat);
    if (events.destroyed) return false;
    events.push(frames);
    return events.push(null);
  });
  return events;
}

/** How it ended: exactly one `exit` or `error`, and before it the word that the time limit struck. Never rejects. */
async function lastFrames(
  { exitCode, timedOut }: RunningCommand,
  timeoutMs: number | undefined,
  atExit: () => object,
): Promise<string> {
  try {
    const exit = frame('exit', JSON.stringify({ exit_code: await exitCode, ...atExit() }));
    if (!timedOut()) return exit;
    return frame('stderr', Buffer.from(`Command timed out after ${timeoutMs}ms\n`).toString('base64')) + exit;
  } catch (error) {
    const known = error instanceof PortholeError;
    return frame(
      'error',
      JSON.stringify({
        error: known ? error.message : 'The connection to the sandbox was lost: run the command again.',
        code: known ? error.shownCode : 'exec_transport_error',
        retryable: !known || error.retryable,
      }),
    );
  }
}

/** What a command printed, written into one piece of memory: a stream that is given text copies it twice more. */
function outputFrame(event: 'stdout' | 'stderr', chunk: Buffer): Buffer {
  const head = `event: ${event}\ndata: `;
  const data = chunk.toString('base64');
  const out = Buffer.allocUnsafe(head.length + data.length + 2);
  out.write(head, 0, 'latin1');
  out.write(data, head.length, 'latin1');
  out.write('\n\n', head.length + data.length, 'latin1');
  return out;
}

function frame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

/** What could not begin, as the bridge tells it: its answer has begun by then. */
export function failedEvents(error: PortholeError): string {
  return frame(
    'error',
    JSON.stringify({ error: error.message, code: error.shownCode, retryable: error.retryable }),
  );
}
