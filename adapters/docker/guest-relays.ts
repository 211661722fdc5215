import { type ClientHttp2Session, type ClientHttp2Stream, connect as openHttp2, constants } from 'node:http2';
import type { Duplex } from 'node:stream';
import { transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import { RELAY_SESSION, RELAY_WINDOW } from '#protocol/guest/http-protocol.ts';
import { GUEST_FOLDER } from '#protocol/guest/guest-pod.ts';
import type { RunningContainer } from './container-state.ts';
import type { Engine } from './engine.ts';
import { attachExec, RelayDuplex } from './attached-exec.ts';

/** Idle time after which a relay is closed, in milliseconds: it takes memory in the sandbox. */
const IDLE_MS = 60_000;

/** If a guest has not answered for this long, in milliseconds, its container may no longer run. */
const SLOW_MS = 1_000;

/**
 * The guest's socket. It is abstract (unix(7)), so code in the sandbox cannot remove or replace it.
 */
export function guestSocket(containerName: string): string {
  return `\0porthole-${containerName}`;
}

export interface GuestWay {
  readonly id: string;
  readonly name: string;
  /** Rejects with the reason if the container does not run. */
  readonly check: () => Promise<unknown>;
}

interface OpenRelay {
  readonly container: RunningContainer;
  readonly relay: Promise<Relay>;
}

/**
 * Connections to guests in containers, through one relay per container, which an exec of the engine
 * carries. This also works for an engine on another machine or in a virtual machine, which shares
 * no socket files.
 */
export class GuestRelays {
  readonly #engine: Engine;
  /** By sandbox. */
  readonly #open = new Map<string, OpenRelay>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /**
   * @throws EngineError 404 or 409 if the container does not run, PortholeError
   * `exec_transport_error` if its guest does not answer, and the errors of `check`
   */
  async connect(way: GuestWay, container: RunningContainer, signal?: AbortSignal): Promise<Duplex> {
    signal?.throwIfAborted();
    const present = this.#find(way.id, container);
    const relay = await present?.relay.catch(() => undefined);
    if (present !== undefined && relay?.isOpen === true) {
      try {
        return await relay.connect(way, signal);
      } catch (error) {
        signal?.throwIfAborted();
        // Nothing was sent: a relay that has just broken is replaced once.
        if (relay.isOpen) throw error;
      }
    }
    if (present !== undefined) this.#forget(way.id, present);
    const fresh = this.#find(way.id, container) ?? this.#start(way, container);
    return (await fresh.relay).connect(way, signal);
  }

  /** Ends every connection to a sandbox. */
  end(id: string): void {
    const ending = this.#open.get(id);
    this.#open.delete(id);
    ending?.relay.then(
      (relay) => relay.close(),
      () => {},
    );
  }

  closeAll(): void {
    for (const id of this.#open.keys()) this.end(id);
  }

  #find(id: string, { containerId, startedAt }: RunningContainer): OpenRelay | undefined {
    const found = this.#open.get(id);
    const isSame = found?.container.containerId === containerId && found.container.startedAt === startedAt;
    return isSame ? found : undefined;
  }

  #start({ id, name }: GuestWay, container: RunningContainer): OpenRelay {
    const argv = [`${GUEST_FOLDER}/porthole`, 'relay', guestSocket(name).replace('\0', '@')];
    const attached = attachExec(this.#engine, container.containerId, argv);
    const opened: OpenRelay = { container, relay: attached.then((socket) => new Relay(id, socket)) };
    this.#open.set(id, opened);
    const forget = (): void => this.#forget(id, opened);
    opened.relay.then((relay) => void relay.closed.then(forget), forget);
    return opened;
  }

  #forget(id: string, relay: OpenRelay): void {
    if (this.#open.get(id) === relay) this.#open.delete(id);
  }
}

class Relay {
  /** Resolves once it accepts no more connections. */
  readonly closed: Promise<void>;
  readonly #id: string;
  readonly #session: ClientHttp2Session;
  readonly #duplex: RelayDuplex;
  readonly #streams = new Set<ClientHttp2Stream>();
  #idle: NodeJS.Timeout | undefined;

  constructor(id: string, socket: Duplex) {
    this.#id = id;
    this.#duplex = new RelayDuplex(socket, (said, cause) =>
      this.#lost(`the connection to its guest was lost${said && ` (${said})`}`, cause),
    );
    const session = openHttp2('http://guest', {
      createConnection: () => this.#duplex,
      ...RELAY_SESSION,
    });
    this.#session = session;
    session.on('error', () => {});
    session.once('connect', () => {
      // A session that has ended throws, and the uncaught error would end the host.
      if (!session.destroyed) session.setLocalWindowSize(RELAY_WINDOW);
    });
    const closed = Promise.withResolvers<void>();
    this.closed = closed.promise;
    session.once('close', () => {
      clearTimeout(this.#idle);
      this.#duplex.destroy();
      closed.resolve();
    });
  }

  get isOpen(): boolean {
    return !this.#session.closed && !this.#session.destroyed && !this.#duplex.destroyed;
  }

  connect({ check }: GuestWay, signal?: AbortSignal): Promise<Duplex> {
    clearTimeout(this.#idle);
    const stream = this.#session.request({ ':method': 'CONNECT', ':authority': 'guest' });
    cancelOnDestroy(stream);
    this.#streams.add(stream);
    stream.once('close', () => {
      this.#streams.delete(stream);
      if (this.#streams.size > 0 || !this.isOpen) return;
      this.#idle = setTimeout(() => this.#session.close(), IDLE_MS).unref();
    });
    return new Promise<Duplex>((resolve, reject) => {
      // A paused container sends nothing at all.
      const slow = setInterval(() => void check().catch(failed), SLOW_MS);
      const settle = (): void => {
        clearInterval(slow);
        stream.off('error', failed).off('close', closed);
        signal?.removeEventListener('abort', abort);
      };
      const failed = (error: unknown): void => {
        settle();
        // Without a listener a late error would end the host.
        stream.on('error', () => {});
        stream.destroy();
        reject(error);
      };
      const closed = (): void => failed(transportError(this.#id, 'the connection to its guest was lost'));
      const abort = (): void => failed(signal?.reason);
      stream.once('error', failed).once('close', closed);
      stream.once('response', ({ ':status': status }) => {
        if (status !== 200) return failed(transportError(this.#id, 'its guest does not listen'));
        settle();
        resolve(stream);
      });
      if (signal?.aborted) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  }

  close(): void {
    this.#lost('the connection to its guest was closed');
    this.#session.destroy();
  }

  #lost(what: string, cause?: unknown): void {
    for (const stream of this.#streams) stream.destroy(transportError(this.#id, what, cause));
  }
}

/**
 * Node resets a destroyed stream with NO_ERROR. The relay's Node takes that for a graceful end, and
 * keeps the stream and its connection until it has sent everything, which is never.
 */
function cancelOnDestroy(stream: ClientHttp2Stream): void {
  const destroy = stream._destroy.bind(stream);
  stream._destroy = (error, done) => {
    if (!stream.closed && !stream.pending) stream.close(constants.NGHTTP2_CANCEL);
    destroy(error, done);
  };
}
