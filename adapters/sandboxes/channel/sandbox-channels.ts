import { rmSync } from 'node:fs';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { listenInFolder, type SocketRights } from './folder-socket.ts';

/** The socket's name in a sandbox's channel folder. */
export const CHANNEL_SOCKET = 'porthole.sock';

/** Connections of one sandbox at a time; those beyond are closed at once. */
const MOST_OPEN = 16;

/** Connections of one sandbox within a second. Whoever makes more finds nobody listening for the next one: refusing takes time, too, and it is everybody's. */
const MOST_A_SECOND = 50;
const PAUSE_MS = 1_000;

/** Makes the server of one sandbox's channel; not listening yet. */
export type ServeChannel = (sandboxId: string) => Server;

/**
 * The sockets on which processes in sandboxes reach this host, each in a folder that the sandbox is shown read-only: nothing inside can put another in its place, and
 * the next host puts its own there.
 */
export class SandboxChannels {
  readonly #open = new Map<string, Channel>();
  #serve: ServeChannel | undefined;

  /** From here on channels can be opened. */
  begin(serve: ServeChannel): void {
    this.#serve = serve;
  }

  /** Puts the socket into that folder. Does nothing for a sandbox whose channel is open, and as long as nobody serves. */
  async open(id: string, folder: string, rights: SocketRights): Promise<void> {
    if (this.#serve === undefined || this.#open.has(id)) return;
    const channel = new Channel(this.#serve(id), folder, rights);
    this.#open.set(id, channel);
    try {
      await channel.listen();
    } catch (error) {
      this.#open.delete(id);
      throw error;
    }
  }

  /** Nobody listens any more, and what is connected is cut off. */
  close(id: string): void {
    this.#open.get(id)?.close();
    this.#open.delete(id);
  }

  closeAll(): void {
    for (const id of this.#open.keys()) this.close(id);
  }
}

class Channel {
  readonly #server: Server;
  readonly #folder: string;
  readonly #rights: SocketRights;
  #began = 0;
  #count = 0;
  #isClosed = false;
  #pause: NodeJS.Timeout | undefined;

  constructor(server: Server, folder: string, rights: SocketRights) {
    this.#server = server;
    this.#folder = folder;
    this.#rights = rights;
    server.maxConnections = MOST_OPEN;
    server.on('connection', () => this.#arrived());
    server.on('drop', () => this.#arrived());
  }

  async listen(): Promise<void> {
    await listenInFolder(this.#server, this.#folder, CHANNEL_SOCKET, this.#rights);
    if (this.#isClosed) this.close();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#pause);
    rmSync(join(this.#folder, CHANNEL_SOCKET), { force: true });
    this.#server.close();
    if ('closeAllConnections' in this.#server)
      (this.#server as { closeAllConnections(): void }).closeAllConnections();
  }

  #arrived(): void {
    const now = performance.now();
    if (now - this.#began > 1_000) {
      this.#began = now;
      this.#count = 0;
    }
    this.#count += 1;
    if (this.#count <= MOST_A_SECOND || this.#pause !== undefined || this.#isClosed) return;
    this.#server.close();
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      // One that cannot listen again is as good as closed; the next start of the sandbox opens another.
      this.listen().catch(() => this.close());
    }, PAUSE_MS).unref();
  }
}
