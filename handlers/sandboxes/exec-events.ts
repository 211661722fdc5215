import { Readable } from 'node:stream';
import { PortholeError } from '#core/errors.ts';
import type { RunningCommand } from '#core/use-cases/execute-command.ts';

/**
 * A running command as the bridge's event stream. A reader that stops, stops the command; a reader that goes away ends it. What cannot be
 * known (a lost connection) is an `error`, never an exit code.
 */
export function execEvents(
  { process, exitCode, timedOut }: RunningCommand,
  timeoutMs: number | undefined,
): Readable {
  const outputs = [process.stdout, process.stderr];
  const events = new Readable({
    highWaterMark: 64 * 1024,
    read: () => outputs.forEach((output) => output.resume()),
    destroy: (error, done) => {
      process.kill('SIGKILL');
      outputs.forEach((output) => output.destroy());
      done(error);
    },
  });
  const forward = (event: 'stdout' | 'stderr', output: Readable) => {
    output.on('data', (chunk: Buffer) => {
      if (!events.push(frame(event, chunk.toString('base64')))) outputs.forEach((each) => each.pause());
    });
    // A lost connection also rejects the exit code, which is where it is told.
    output.on('error', () => undefined);
  };
  forward('stdout', process.stdout);
  forward('stderr', process.stderr);
  exitCode.then(
    (code) => {
      if (timedOut())
        events.push(
          frame('stderr', Buffer.from(`Command timed out after ${timeoutMs}ms\n`).toString('base64')),
        );
      events.push(frame('exit', JSON.stringify({ exit_code: code })));
      events.push(null);
    },
    (error: unknown) => {
      const known = error instanceof PortholeError;
      const body = {
        error: known ? error.message : 'The connection to the sandbox was lost: run the command again.',
        code: known ? error.code : 'exec_transport_error',
      };
      events.push(frame('error', JSON.stringify(body)));
      events.push(null);
    },
  );
  return events;
}

function frame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}
