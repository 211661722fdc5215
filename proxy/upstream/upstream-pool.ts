import type { Duplex } from 'node:stream';
import type { PreviewTarget } from '../preview-target.ts';
import { UpstreamConnection } from './upstream-connection.ts';

/** Idle connections kept for one preview. */
const MAX_IDLE = 32;
/**
 * Below 5 s, after which Node's own servers close an idle connection: this avoids races with the
 * close.
 */
const IDLE_MS = 4_000;
/** A request that cannot be repeated uses only a connection that was alive this recently. */
const FRESH_MS = 1_000;
/** A working guest answers within milliseconds. */
const DIAL_TIMEOUT_MS = 10_000;

export type Dial = (target: PreviewTarget, signal: AbortSignal) => Promise<Duplex>;

/** The connections to one preview's server, kept alive between requests. */
export class UpstreamPool {
  readonly #target: PreviewTarget;
  readonly #dial: Dial;
  /** The most recently used last. */
  #idle: UpstreamConnection[] = [];
  #sweep: NodeJS.Timeout | undefined;
  #closed = false;
  readonly #forget = (gone: UpstreamConnection): void => {
    this.#idle = this.#idle.filter((connection) => connection !== gone);
  };

  constructor(target: PreviewTarget, dial: Dial) {
    this.#target = target;
    this.#dial = dial;
  }

  get idle(): number {
    return this.#idle.length;
  }

  /**
   * The most recently used idle connection, or undefined. `repeatable`: the request may be sent
   * again if the connection was stale.
   */
  take(repeatable: boolean): UpstreamConnection | undefined {
    for (let connection = this.#idle.at(-1); connection !== undefined; connection = this.#idle.at(-1)) {
      if (!repeatable && performance.now() - connection.idleSince > FRESH_MS) return undefined;
      this.#idle.pop();
      if (connection.usable) return connection;
      connection.destroy();
    }
    return undefined;
  }

  /**
   * A new connection.
   * @throws what `dial` rejects with; Error after 10 s
   */
  async open(signal: AbortSignal): Promise<UpstreamConnection> {
    const controller = new AbortController();
    const abort = (): void => controller.abort();
    signal.throwIfAborted();
    signal.addEventListener('abort', abort, { once: true });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const fail = (): void => reject(new Error(`no connection within ${DIAL_TIMEOUT_MS} ms`));
      timer = setTimeout(fail, DIAL_TIMEOUT_MS);
      controller.signal.addEventListener('abort', fail, { once: true });
    });
    const dialled = this.#dial(this.#target, controller.signal);
    try {
      return new UpstreamConnection(await Promise.race([dialled, late]), this.#forget);
    } catch (error) {
      controller.abort();
      // A dial that succeeds too late must not leak.
      dialled.then(
        (socket) => socket.destroy(),
        () => undefined,
      );
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }

  /** Returns a connection that is in step: no outstanding response, no unread bytes. */
  give(connection: UpstreamConnection): void {
    connection.use(undefined);
    if (this.#closed || !connection.usable || this.#idle.length >= MAX_IDLE) {
      connection.destroy();
      return;
    }
    // A slow client may have paused it; an idle connection must notice when the other side ends it.
    if (connection.socket.isPaused()) connection.socket.resume();
    connection.idleSince = performance.now();
    this.#idle.push(connection);
    this.#sweep ??= setTimeout(() => this.#dropOld(), IDLE_MS).unref();
  }

  /** Destroys the idle connections, and those that are returned later. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#sweep);
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  #dropOld(): void {
    this.#sweep = undefined;
    const oldest = performance.now() - IDLE_MS;
    const old = this.#idle.filter((connection) => connection.idleSince <= oldest);
    for (const connection of old) connection.destroy();
    this.#idle = this.#idle.filter((connection) => connection.idleSince > oldest);
    const next = this.#idle[0];
    if (next !== undefined) {
      this.#sweep = setTimeout(() => this.#dropOld(), Math.max(next.idleSince - oldest, 50)).unref();
    }
  }
}
