import { PassThrough, type Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ExecExit, ExecProcess } from '../ports/sandbox-provider.ts';

/**
 * What a command prints, as it comes. It ends well only when the command did, so that a part is
 * never taken for the whole; else it fails with what `failure` makes of its exit, unless that is
 * undefined. A reader
 * that goes away ends the command.
 * @param check what else must hold once the command has ended well
 */
export function outputOf(
  process: ExecProcess,
  failure: (exit: ExecExit) => Error | undefined | Promise<Error | undefined>,
  check?: () => Promise<void>,
): Readable {
  const output = new PassThrough();
  process.stdout.pipe(output, { end: false });
  const end = async () => {
    await finished(process.stdout);
    const exit = await process.exited;
    const failed = exit.code === 0 ? undefined : await failure(exit);
    if (failed !== undefined) throw failed;
    await check?.();
    output.end();
  };
  end().catch((error: Error) => output.destroy(error));
  output.once('close', () => process.kill('SIGKILL'));
  // Without a listener an error would end the host; whoever reads gets it all the same.
  output.on('error', () => undefined);
  return output;
}

/** More than any first line of ours. */
const LONGEST_LINE = 4_096;

/**
 * Takes the first line of a stream, without its newline; undefined when the stream ends without
 * one. What follows the line stays there.
 */
export async function takeLine(stream: Readable): Promise<string | undefined> {
  let seen: Buffer = Buffer.alloc(0);
  return new Promise((resolve) => {
    const settle = (line: string | undefined) => {
      stream.off('readable', look);
      stream.off('end', ended);
      stream.off('close', ended);
      resolve(line);
    };
    const ended = () => settle(undefined);
    const look = () => {
      const chunk = stream.read() as Buffer | null;
      if (chunk === null) return;
      seen = Buffer.concat([seen, chunk]);
      const end = seen.indexOf('\n');
      if (end < 0) {
        if (seen.length > LONGEST_LINE) settle(undefined);
        else look();
        return;
      }
      if (end + 1 < seen.length) stream.unshift(seen.subarray(end + 1));
      settle(seen.toString('latin1', 0, end));
    };
    stream.on('readable', look);
    stream.on('end', ended);
    stream.on('close', ended);
    look();
  });
}
