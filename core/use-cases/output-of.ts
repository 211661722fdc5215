import { PassThrough, type Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ExecExit, ExecProcess } from '../ports/sandbox-provider.ts';

/**
 * What a command prints, as it comes. It ends well only when the command did, so that a part is never taken for the whole; else it fails with what `failure` makes of its exit. A reader
 * that goes away ends the command.
 * @param check what else must hold once the command has ended well
 */
export function outputOf(
  process: ExecProcess,
  failure: (exit: ExecExit) => Error,
  check?: () => Promise<void>,
): Readable {
  const output = new PassThrough();
  process.stdout.pipe(output, { end: false });
  const end = async () => {
    await finished(process.stdout);
    const exit = await process.exited;
    if (exit.code !== 0) throw failure(exit);
    await check?.();
    output.end();
  };
  end().catch((error: Error) => output.destroy(error));
  output.once('close', () => process.kill('SIGKILL'));
  // Without a listener an error would end the host; whoever reads gets it all the same.
  output.on('error', () => undefined);
  return output;
}

/** Takes these very bytes from the beginning of a stream; false when it ends without them. What follows them stays there. */
export async function takeFirst(stream: Readable, bytes: string): Promise<boolean> {
  const first = await new Promise<Buffer | null>((resolve) => {
    const look = () => {
      const chunk = stream.read(bytes.length) as Buffer | null;
      if (chunk !== null) settle(chunk);
    };
    const ended = () => settle(null);
    const settle = (result: Buffer | null) => {
      stream.off('readable', look);
      stream.off('end', ended);
      stream.off('close', ended);
      resolve(result);
    };
    stream.on('readable', look);
    stream.on('end', ended);
    stream.on('close', ended);
    look();
  });
  return first?.toString('latin1') === bytes;
}
