import { rmSync } from 'node:fs';
import type { Server, Socket } from 'node:net';

interface Listener {
  readonly server: Server;
  /** The path of its socket. */
  readonly path: string;
  /** Listens again as before. */
  readonly listen: () => Promise<void>;
}

/** Servers and connections of the guest on sockets in folders of the host. */
export class HostSockets {
  readonly #listeners: Listener[] = [];
  readonly #open = new Set<Socket>();

  track(listener: Listener): void {
    this.#listeners.push(listener);
    listener.server.on('connection', (socket: Socket) => this.trackConnection(socket));
  }

  /** A connection between the guest and the host. */
  trackConnection(socket: Socket): void {
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
  }

  /** Stops listening. Open connections stay. */
  close(): void {
    for (const { server, path } of this.#listeners) {
      server.close();
      // gVisor restores no sandbox without each file that it knows.
      rmSync(path, { recursive: true, force: true });
    }
  }

  /** Ends all connections, and listens again. */
  async reopen(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await Promise.all(this.#listeners.map(({ listen }) => listen()));
  }
}
