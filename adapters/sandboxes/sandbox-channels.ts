import { renameSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { NETWORK } from '#protocol/guest/network.ts';
import { listenInFolder, type SocketRights } from '#base/socket-path.ts';

/** The socket's name in a sandbox's channel folder. */
export const CHANNEL_SOCKET = 'porthole.sock';

interface ChannelLimits {
  /** The socket's name in the folder. */
  readonly socket: string;
  /** Open connections per sandbox. Further ones are closed at once. */
  readonly mostOpen: number;
  /**
   * Connections of one sandbox per second. Beyond it, the socket does not listen for the next
   * second: refusing costs time as well.
   */
  readonly mostASecond: number;
}

const CALLS: ChannelLimits = { socket: CHANNEL_SOCKET, mostOpen: 16, mostASecond: 50 };
const CONNECTIONS: ChannelLimits = { socket: NETWORK.socketName, mostOpen: 500, mostASecond: 1_000 };

const PAUSE_MS = 1_000;

/** Creates the server of one sandbox's channel; not listening yet. */
export type ServeChannel = (sandboxId: string) => Server;

export interface ChannelServices {
  /** Serves the calls of agents. */
  readonly calls: ServeChannel;
  /** The broker of the sandbox's connections. @default none */
  readonly network?: ServeChannel | undefined;
  /** The certificate of the sandbox's authority, in PEM. @default none */
  readonly authority?: ((sandboxId: string) => Promise<string | undefined>) | undefined;
  /** Called where the channel of one sandbox fails: the others, and the host, go on. */
  readonly failed?: ((sandboxId: string, error: unknown) => void) | undefined;
}

/**
 * The sockets through which processes in sandboxes reach this host, each in a folder that is
 * read-only in the sandbox: nothing inside can replace them, and the next host replaces them by its
 * own.
 */
export class SandboxChannels {
  readonly #open = new Map<string, { readonly folder: string; readonly channels: readonly Channel[] }>();
  readonly #certificates: string | undefined;
  #services: ChannelServices | undefined;

  /** @param certificates PEM, for the tools in sandboxes */
  constructor(certificates?: string) {
    this.#certificates = certificates;
  }

  /** Enables channels. */
  begin(services: ChannelServices): void {
    this.#services = services;
  }

  /**
   * Creates the sockets in that folder. Does nothing if the sandbox's channel is open, or before
   * `begin`.
   */
  async open(id: string, folder: string, rights: SocketRights): Promise<void> {
    if (this.#services === undefined || this.#open.has(id)) return;
    const { calls, network } = this.#services;
    const channels = [
      new Channel(calls(id), folder, rights, CALLS),
      ...(network === undefined ? [] : [new Channel(network(id), folder, rights, CONNECTIONS)]),
    ];
    this.#open.set(id, { folder, channels });
    try {
      // Its tools may trust too little; without a channel it could not run at all.
      await this.writeCertificates(id).catch((error: unknown) => this.failed(id, error));
      await Promise.all(channels.map((channel) => channel.listen()));
    } catch (error) {
      this.#open.delete(id);
      throw error;
    }
  }

  /** Reports the failure of one sandbox. @throws that error if no service takes it */
  failed(id: string, error: unknown): void {
    if (this.#services?.failed === undefined) throw error;
    this.#services.failed(id, error);
  }

  /**
   * Writes the authorities that the sandbox's tools trust: this machine's and its own. Does nothing
   * if its channel is closed: `open` does it.
   */
  async writeCertificates(id: string): Promise<void> {
    const own = await this.#services?.authority?.(id);
    const folder = this.#open.get(id)?.folder;
    if (folder === undefined || (own === undefined && this.#certificates === undefined)) return;
    const trusted = this.#certificates ?? rootCertificates.join('\n');
    const file = join(folder, NETWORK.certificatesName);
    // A tool that starts now must not read half of it.
    writeFileSync(`${file}.new`, own === undefined ? trusted : `${trusted}\n${own}\n`, {
      mode: 0o644,
    });
    renameSync(`${file}.new`, file);
  }

  /** Stops listening and closes open connections. */
  close(id: string): void {
    for (const channel of this.#open.get(id)?.channels ?? []) channel.close();
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
  readonly #limits: ChannelLimits;
  #began = 0;
  #count = 0;
  #isClosed = false;
  #pause: NodeJS.Timeout | undefined;

  constructor(server: Server, folder: string, rights: SocketRights, limits: ChannelLimits) {
    this.#server = server;
    this.#folder = folder;
    this.#rights = rights;
    this.#limits = limits;
    server.maxConnections = limits.mostOpen;
    server.on('connection', () => this.#arrived());
    server.on('drop', () => this.#arrived());
  }

  async listen(): Promise<void> {
    await listenInFolder(this.#server, this.#folder, this.#limits.socket, this.#rights);
    if (this.#isClosed) this.close();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#pause);
    rmSync(join(this.#folder, this.#limits.socket), { force: true });
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
    if (this.#count <= this.#limits.mostASecond || this.#pause !== undefined || this.#isClosed) return;
    this.#server.close();
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      // A channel that cannot listen again counts as closed; the next start of the sandbox opens
      // another.
      this.listen().catch(() => this.close());
    }, PAUSE_MS).unref();
  }
}
