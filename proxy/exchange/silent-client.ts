import type { Duplex } from 'node:stream';
import { FrameBoundary } from './frame-boundary.ts';

/** A third of the shortest idle window of a preview, in milliseconds. */
const SILENT_MS = 20_000;
/** A Ping without content. A server does not mask (RFC 6455 section 5.5.2). */
const PING = Buffer.from([0x89, 0]);

/**
 * Asks the client of a silent WebSocket whether it still exists: every peer answers a Ping. The
 * app receives the Pong, which RFC 6455 section 5.5.3 allows without a Ping of the app.
 */
export class SilentClient {
  readonly #client: Duplex;
  readonly #boundary = new FrameBoundary();
  readonly #timer: NodeJS.Timeout;
  #isSilent = true;

  constructor(client: Duplex) {
    this.#client = client;
    this.#timer = setInterval(() => this.#tick(), SILENT_MS).unref();
  }

  /** The client has sent something. */
  heard(): void {
    this.#isSilent = false;
  }

  /** The app has sent `bytes` to the client. */
  sent(bytes: Buffer): void {
    this.#boundary.push(bytes);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    // With bytes that wait, the splice counts on its own writes alone.
    const { writable, writableLength } = this.#client;
    if (this.#isSilent && writable && writableLength === 0 && this.#boundary.isBetweenFrames) {
      this.#client.write(PING);
    }
    this.#isSilent = true;
  }
}
