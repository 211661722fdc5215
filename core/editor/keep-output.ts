import type { Readable } from 'node:stream';
import { stored } from './tool-result.ts';

/** Bytes to keep of each output of a run. The rest is dropped. */
const MOST_KEPT = 1024 * 1024;
/** Maximum bytes of both outputs together. Code that prints more is killed. */
export const MOST_PRINTED = 32 * 1024 * 1024;

/** The kept part of an output. */
export interface KeptOutput {
  /** Call it after the stream has ended. */
  text(): string;
}

/**
 * Reads a stream to its end, and keeps the first MiB.
 * @param printed called with the length of each chunk
 */
export function keepOutput(stream: Readable, printed: (bytes: number) => void): KeptOutput {
  const chunks: Buffer[] = [];
  let kept = 0;
  let dropped = 0;
  stream.on('data', (chunk: Buffer) => {
    printed(chunk.length);
    const part = chunk.subarray(0, MOST_KEPT - kept);
    if (part.length > 0) chunks.push(part);
    kept += part.length;
    dropped += chunk.length - part.length;
  });
  stream.on('error', () => undefined);
  return {
    text() {
      const text = stored(Buffer.concat(chunks).toString('utf8'));
      return dropped === 0 ? text : `${text}\n[${dropped} more bytes were dropped]\n`;
    },
  };
}
