import type { Socket } from 'node:net';
import { connectToGuestIn } from './guest-socket.ts';

/** How long one is kept, in milliseconds: a guest closes a silent connection after a minute. */
const KEPT_MS = 20_000;

interface Ready {
  readonly stream: Socket;
  readonly over: () => void;
  readonly expires: NodeJS.Timeout;
}

/**
 * Keeps one open connection to each guest in use, which its next command takes: it does not wait
 * for the guest to accept one. The next is made once an earlier one is over.
 */
export class ReadyConnections {
  readonly #ready = new Map<string, Ready>();
  #isClosed = false;

  /** @param folder of the sandbox, which runs. @throws the system's error if nothing listens */
  async connect(folder: string): Promise<Socket> {
    const stream = this.#take(folder) ?? (await connectToGuestIn(folder));
    // After the answer that ends with the connection.
    stream.once('close', () => setImmediate(() => void this.#prepare(folder)));
    return stream;
  }

  /** Call it before the guest ends. */
  drop(folder: string): void {
    this.#take(folder)?.destroy();
  }

  close(): void {
    this.#isClosed = true;
    for (const folder of this.#ready.keys()) this.drop(folder);
  }

  #take(folder: string): Socket | undefined {
    const ready = this.#ready.get(folder);
    if (ready === undefined) return undefined;
    this.#ready.delete(folder);
    clearTimeout(ready.expires);
    const { stream, over } = ready;
    return stream.off('end', over).off('close', over).ref();
  }

  async #prepare(folder: string): Promise<void> {
    if (this.#isClosed || this.#ready.has(folder)) return;
    let stream: Socket;
    try {
      stream = await connectToGuestIn(folder);
    } catch {
      // The guest has ended: the next caller learns it.
      return;
    }
    stream.on('error', () => {});
    if (this.#isClosed || this.#ready.has(folder)) {
      stream.destroy();
      return;
    }
    const over = (): void => this.drop(folder);
    stream.unref().on('end', over).on('close', over);
    this.#ready.set(folder, { stream, over, expires: setTimeout(over, KEPT_MS).unref() });
  }
}
