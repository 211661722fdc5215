import type { Socket } from 'node:net';
import { FRAME, frame } from './frames.ts';

/** Connections that wait for their command at a time: the host starts it as soon as it has its answer. */
const MOST = 64;

/** Connections that become the stdin of commands: their bytes go from the host to the command through the kernel alone. */
export class Inputs {
  readonly #waiting = new Map<string, Socket>();

  /** Keeps a connection under a name that the host made up, as long as the host does. */
  offer(ticket: string, connection: Socket): void {
    if (this.#waiting.size >= MOST || this.#waiting.has(ticket)) {
      connection.destroy();
      return;
    }
    this.#waiting.set(ticket, connection);
    connection.once('close', () => this.#waiting.delete(ticket));
    connection.on('end', () => connection.destroy());
    // The host waits for its command: what it said before would be missing at the command's.
    connection.on('data', () => connection.destroy());
    connection.write(frame(FRAME.ok));
  }

  /** Gives a connection away, once. @throws Error when there is none of that name */
  take(ticket: string): Socket {
    const connection = this.#waiting.get(ticket);
    if (connection === undefined) throw new Error('its input was given up');
    this.#waiting.delete(ticket);
    return connection;
  }
}
