import type { Duplex } from 'node:stream';
import type { ShellChannel, ShellListener } from '#adapters/sandboxes/shell/shell-channel.ts';
import { AttachedReader } from './attached-frames.ts';

export interface AttachedChannelOptions {
  /** Of the exec, hijacked; not read yet. */
  readonly socket: Duplex;
  /** A terminal's stream is not multiplexed. */
  readonly isTerminal: boolean;
  /** How the shell ended, asked for once its stream has; undefined where nobody knows. */
  readonly outcome: () => Promise<number | undefined>;
  readonly resize: (cols: number, rows: number) => Promise<unknown>;
}

const MOST = 0xffff;

/** A shell in a container, on the stream of its exec. */
export class AttachedChannel implements ShellChannel {
  readonly #options: AttachedChannelOptions;
  readonly #socket: Duplex;
  /** A terminal's size goes another way than what is typed: one waits for the other, so that they keep their order. */
  #typed: Promise<void> = Promise.resolve();
  #isClosed = false;
  #hasEnded = false;

  constructor(options: AttachedChannelOptions) {
    this.#options = options;
    this.#socket = options.socket;
  }

  listen(listener: ShellListener): void {
    const reader = new AttachedReader();
    this.#socket.on('data', (piece: Buffer) => {
      if (this.#options.isTerminal) return listener.stdout(piece);
      try {
        for (const { stream, bytes } of reader.take(piece)) listener[stream](bytes);
      } catch (error) {
        listener.lost('its exec breaks the protocol', error);
      }
    });
    const over = (): void => this.#over(listener);
    this.#socket.once('end', over).once('close', over);
  }

  write(bytes: Uint8Array, done: (error?: Error | null) => void = () => {}): void {
    this.#inOrder(() => void this.#socket.write(bytes, done));
  }

  endInput(done: () => void = () => {}): void {
    this.#inOrder(() => void this.#socket.end(done));
  }

  resize(cols: number, rows: number): void {
    this.#inOrder(async () => {
      // A shell that has ended has no size any more.
      await this.#options.resize(held(cols), held(rows)).catch(() => {});
    });
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }

  #inOrder(send: () => Promise<void> | void): void {
    if (this.#options.isTerminal) this.#typed = this.#typed.then(send);
    else void send();
  }

  #over(listener: ShellListener): void {
    if (this.#hasEnded || this.#isClosed) return;
    this.#hasEnded = true;
    this.#options.outcome().then(
      (code) =>
        code === undefined ? listener.lost('the connection to the command was lost') : listener.ended(code),
      (error: unknown) => listener.lost('the connection to the command was lost', error),
    );
  }
}

function held(size: number): number {
  return Math.min(Math.max(Math.trunc(size) || 1, 1), MOST);
}
