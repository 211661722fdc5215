import type { Socket } from 'node:net';
import { nothingListens } from '#adapters/sandboxes/sandbox-errors.ts';
import { FRAME } from './init/frames.ts';
import { request } from './init-client.ts';

/** The slower way to a port: the init connects, and carries the bytes over its socket. Works wherever exec works. */
export async function dialThroughInit(
  id: string,
  folder: string,
  port: number,
  signal?: AbortSignal,
): Promise<Socket> {
  const { socket, answer, rest } = await request(id, folder, { op: 'dial', port }, signal);
  if (answer.type === FRAME.ok) {
    socket.removeAllListeners('end');
    if (rest.length > 0) socket.unshift(rest);
    return socket;
  }
  socket.destroy();
  throw nothingListens(id, port);
}
