import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  CHANNEL_SOCKET,
  SandboxChannels,
  type ChannelServices,
} from '#adapters/sandboxes/sandbox-channels.ts';
import { CHANNEL_FOLDER } from './sandbox-container.ts';

/**
 * The sockets on which processes in containers reach this host, each in a folder that its container
 * is shown read-only. Where the engine runs elsewhere there are none.
 */
export class ContainerChannels {
  readonly #channels: SandboxChannels;
  #root: string | undefined;

  /** @param root made when the first folder is; undefined: no channels */
  constructor(root: string | undefined, certificates?: string) {
    this.#channels = new SandboxChannels(certificates);
    this.#root = root;
  }

  /** Where processes in a sandbox find the socket. */
  get path(): string | undefined {
    return this.#root === undefined ? undefined : join(CHANNEL_FOLDER, CHANNEL_SOCKET);
  }

  /** The engine does not see the folders: there are no channels from here on. */
  giveUp(): void {
    this.#channels.closeAll();
    this.#root = undefined;
  }

  /** From here on channels can be opened. */
  begin(services: ChannelServices): void {
    this.#channels.begin(services);
  }

  /** The folder of a container, made if it is not there. */
  folder(name: string): string | undefined {
    if (this.#root === undefined) return undefined;
    mkdirSync(this.#root, { recursive: true, mode: 0o700 });
    // A container's user passes through it; nobody else on this machine gets as far as here.
    const folder = join(this.#root, name);
    mkdirSync(folder, { recursive: true, mode: 0o711 });
    return folder;
  }

  async open(id: string, name: string): Promise<void> {
    const folder = this.folder(name);
    if (folder !== undefined) await this.#channels.open(id, folder, { everybody: true });
  }

  close(id: string): void {
    this.#channels.close(id);
  }

  remove(name: string): void {
    if (this.#root !== undefined) rmSync(join(this.#root, name), { recursive: true, force: true });
  }

  closeAll(): void {
    this.#channels.closeAll();
  }
}
