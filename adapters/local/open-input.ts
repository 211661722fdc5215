import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { request, transportError } from './init-client.ts';

/** A connection that waits to become a command's stdin. */
export interface Input {
  readonly ticket: string;
  /** What is written to it goes to the command through the kernel alone. Nothing may be before the command is started. */
  readonly socket: Socket;
}

/** Opens one at a sandbox's init. @throws PortholeError `exec_transport_error` */
export async function openInput(
  id: string,
  folder: string,
  signal?: AbortSignal,
  answerWithin?: number,
): Promise<Input> {
  const ticket = randomBytes(16).toString('hex');
  const { socket, rest } = await request(id, folder, { op: 'input', ticket }, signal, answerWithin);
  if (rest.length > 0) {
    socket.destroy();
    throw transportError(id, 'its init breaks the protocol');
  }
  // A command may write to its stdin. Reading is also how its end is noticed.
  socket.resume();
  return { ticket, socket };
}
