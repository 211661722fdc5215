import type { Duplex } from 'node:stream';
import { reasonPhrase } from '../upstream/response-head.ts';
import type { Refusal } from './hostile-head.ts';

/**
 * How long a peer may go on sending after our last byte: closing earlier may make its kernel
 * discard our answer.
 */
const LINGER_MS = 1_000;
/** How long a peer may take to read our last bytes. */
const FLUSH_MS = 30_000;

/**
 * The answer to a request that could not be parsed or must not be served, as bytes; the connection
 * ends with it.
 */
export function rawAnswer(error: Refusal): string {
  const body = Buffer.from(
    `${JSON.stringify({ error: error.message, code: error.code, retryable: error.retryable })}\n`,
  );
  return [
    `HTTP/1.1 ${error.status} ${reasonPhrase(error.status)}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${body.length}`,
    'Cache-Control: no-store',
    'Referrer-Policy: no-referrer',
    'X-Content-Type-Options: nosniff',
    'Connection: close',
    '',
    body.toString('latin1'),
  ].join('\r\n');
}

/**
 * Sends `bytes` (Latin-1) as the last data on this connection, then destroys it after a short
 * linger.
 */
export function endWith(socket: Duplex, bytes: string): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const giveUp = (): void => {
    socket.destroy();
  };
  let timer = setTimeout(giveUp, FLUSH_MS);
  socket.once('close', () => clearTimeout(timer));
  socket.end(bytes, 'latin1', () => {
    clearTimeout(timer);
    timer = setTimeout(giveUp, LINGER_MS);
  });
  // Read and drop the rest, or the peer's end would never be seen.
  socket.resume();
}
