import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CHANNEL_SOCKET, SandboxChannels } from '#adapters/sandboxes/sandbox-channels.ts';
import { CHANNEL_FOLDER } from './sandbox-container.ts';

/**
 * The sockets through which processes in containers reach this host, each in a folder that its
 * container sees read-only. There are no sockets if the engine runs on another machine.
 */
export class ContainerChannels extends SandboxChannels {
  #root: string | undefined;

  /** @param root created with the first folder; undefined: no channels */
  constructor(root: string | undefined, certificates?: string) {
    super(certificates);
    this.#root = root;
  }

  /** Path of the socket inside a sandbox. */
  get path(): string | undefined {
    return this.#root === undefined ? undefined : join(CHANNEL_FOLDER, CHANNEL_SOCKET);
  }

  /** Disables channels: the engine does not see the folders. */
  giveUp(): void {
    this.closeAll();
    this.#root = undefined;
  }

  /** The folder of a container, created if it is missing. */
  folder(name: string): string | undefined {
    if (this.#root === undefined) return undefined;
    mkdirSync(this.#root, { recursive: true, mode: 0o700 });
    // The container's user must traverse it; mode 0700 of the root keeps other users out.
    const folder = join(this.#root, name);
    mkdirSync(folder, { recursive: true, mode: 0o711 });
    return folder;
  }

  async openFor(id: string, name: string): Promise<void> {
    const folder = this.folder(name);
    if (folder !== undefined) await this.open(id, folder, { everybody: true });
  }

  remove(name: string): void {
    if (this.#root !== undefined) rmSync(join(this.#root, name), { recursive: true, force: true });
  }
}
