import { once } from 'node:events';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { DIAL_UPGRADE } from '../protocol/guest/http-protocol.ts';
import { GuestError } from './router.ts';

/** Tried in this order, because a server may be bound to only one of them. */
const LOOPBACK = ['127.0.0.1', '::1'];

/** How long a connection may stay open for its last bytes, in ms, once the other side is gone. */
const LAST_BYTES = 30_000;

/**
 * A connection to an app. A failed write does not destroy it: an app may answer, and reset the
 * connection, while it is sent to; the kernel still has that answer.
 */
class AppSocket extends Socket {
  #hasFailed = false;

  override _write(chunk: unknown, encoding: BufferEncoding, done: () => void): void {
    super._write(chunk, encoding, (error) => this.#written(error, done));
  }

  override _writev(chunks: Parameters<NonNullable<Socket['_writev']>>[0], done: () => void): void {
    super._writev?.(chunks, (error) => this.#written(error, done));
  }

  #written(error: Error | null | undefined, done: () => void): void {
    if (error && !this.#hasFailed) {
      this.#hasFailed = true;
      setTimeout(() => this.destroy(), LAST_BYTES).unref();
    }
    done();
  }
}

/**
 * Connects to a port of the sandbox. Where a server resets the connection at once, returns one that
 * has ended. Rejects with the system's error when both addresses refuse.
 */
export async function connectLoopback(port: number): Promise<Socket> {
  let refused: unknown;
  for (const host of LOOPBACK) {
    const socket = new AppSocket({ allowHalfOpen: true }).setNoDelay().connect(port, host);
    try {
      await once(socket, 'connect');
      return socket;
    } catch (error) {
      socket.destroy();
      if ((error as NodeJS.ErrnoException).code === 'ECONNRESET') {
        const ended = new Socket();
        ended.push(null);
        return ended;
      }
      refused ??= error;
    }
  }
  throw refused;
}

/** @throws GuestError `invalid_request` */
export function readPort(text: string | undefined): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text ?? '') && port >= 1 && port <= 65_535) return port;
  throw new GuestError('invalid_request', `Port ${text}: must be a whole number from 1 to 65535.`);
}

/** `GET /v1/dial/{port}`: connects a stream to a port of the sandbox. */
export async function serveDial(
  upgrade: string | undefined,
  portText: string | undefined,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const port = readPort(portText);
  if (upgrade?.toLowerCase() !== DIAL_UPGRADE) {
    throw new GuestError('invalid_request', `Send "Upgrade: ${DIAL_UPGRADE}" to dial a port.`);
  }
  const upstream = await connectLoopback(port).catch((): never => {
    throw new GuestError('nothing_listens', `Nothing listens on port ${port}. Start a server on it.`);
  });
  if (socket.destroyed) {
    upstream.destroy();
    return;
  }
  socket.on('error', () => {});
  upstream.on('error', () => {});
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${DIAL_UPGRADE}\r\nConnection: Upgrade\r\n\r\n`);
  if (head.length > 0) upstream.write(head);
  socket.pipe(upstream).pipe(socket);
  socket.once('close', () => {
    passRest(socket, upstream);
    upstream.end(() => upstream.destroy());
  });
  upstream.once('close', () => {
    passRest(upstream, socket);
    socket.end();
    // A byte left unread would reset the connection, and the reset drop the last bytes of the app
    // (RFC 9112 section 9.6).
    socket.resume();
  });
}

/** Passes on what a closed connection had received; the other one is closed soon. */
function passRest(from: Duplex, to: Duplex): void {
  // The timer of a closed one would keep its memory: thousands of dials a second end this way.
  if (to.destroyed) return;
  for (let rest: unknown = from.read(); rest !== null; rest = from.read()) to.write(rest);
  const late = setTimeout(() => to.destroy(), LAST_BYTES).unref();
  to.once('close', () => clearTimeout(late));
}
