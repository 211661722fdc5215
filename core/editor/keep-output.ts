import type { Readable } from 'node:stream';
import { stored } from './tool-result.ts';

/** In bytes: of each of the two outputs of a run. What follows is dropped. */
const MOST_KEPT = 1024 * 1024;
/** In bytes: of both together. Code that prints more is ended. */
export const MOST_PRINTED = 32 * 1024 * 1024;

/** What is kept of a run's outputs. */
export interface KeptOutput {
  /** Once everything has been read. */
  text(): string;
}

/**
 * Reads an output to its end, and keeps the first MiB of it. @param printed is told of each piece's
 * length
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
