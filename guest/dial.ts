import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { DIAL_UPGRADE } from './protocol/http-protocol.ts';
import { GuestError } from './router.ts';

/** Tried in this order, because a server may be bound to only one of them. */
const LOOPBACK = ['127.0.0.1', '::1'];

/**
 * Connects to a port of the sandbox. Rejects with the system's error when both addresses refuse.
 */
export async function connectLoopback(port: number): Promise<Socket> {
  let refused: unknown;
  for (const host of LOOPBACK) {
    const socket = connect({ port, host, allowHalfOpen: true, noDelay: true });
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once('connect', resolve);
        socket.once('error', reject);
      });
      return socket;
    } catch (error) {
      socket.destroy();
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
  let isGone = false;
  socket.once('close', () => {
    isGone = true;
  });
  const upstream = await connectLoopback(port).catch((): never => {
    throw new GuestError('nothing_listens', `Nothing listens on port ${port}. Start a server on it.`);
  });
  if (isGone) {
    upstream.destroy();
    return;
  }
  socket.on('error', () => upstream.destroy());
  socket.on('close', () => upstream.destroy());
  upstream.on('error', () => socket.destroy());
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${DIAL_UPGRADE}\r\nConnection: Upgrade\r\n\r\n`);
  if (head.length > 0) upstream.write(head);
  socket.pipe(upstream).pipe(socket);
}
