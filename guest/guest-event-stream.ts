import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Ports } from './guest-ports.ts';
import type { GuestEvent } from '../protocol/guest/ports-protocol.ts';

type SnapshotEvent = Extract<GuestEvent, { name: 'snapshot' }>['data'];

/** In ms. Comments keep proxies from dropping an idle stream, and find a reader that is gone. */
const HEARTBEAT = 10_000;

/**
 * Bytes of events that wait for a reader; a reader that falls further behind is disconnected, and
 * reconnects.
 */
const MAX_WAITING_BYTES = 1024 * 1024;

export class EventStream {
  readonly #response: ServerResponse;
  readonly #heartbeat: NodeJS.Timeout;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    // The response head confirms the subscription.
    response.flushHeaders();
    this.#heartbeat = setInterval(() => response.write(': still here\n\n'), HEARTBEAT);
    response.on('close', () => clearInterval(this.#heartbeat));
  }

  /** Returns false while the reader is behind. */
  send(event: string, data: string, id?: number): boolean {
    const head = id === undefined ? '' : `id: ${id}\n`;
    return this.#response.write(`event: ${event}\n${head}data: ${data}\n\n`);
  }

  /** Resolves once the reader has caught up, or is gone: then `signal` aborts. */
  async drained(signal: AbortSignal): Promise<void> {
    if (this.#response.writableNeedDrain) await once(this.#response, 'drain', { signal }).catch(() => {});
  }

  get isBehind(): boolean {
    return this.#response.writableLength > MAX_WAITING_BYTES;
  }

  cut(): void {
    this.#response.destroy();
  }

  end(): void {
    clearInterval(this.#heartbeat);
    this.#response.end();
  }
}

/** Events of the sandbox, for every listener. */
export class GuestEvents {
  readonly #listeners = new Set<(event: GuestEvent) => void>();

  publish(event: GuestEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** Returns a function that unsubscribes. */
  subscribe(listener: (event: GuestEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** `GET /v1/events`: the current state, then each change. */
export function serveEvents(
  response: ServerResponse,
  events: GuestEvents,
  ports: Ports,
  rest: Omit<SnapshotEvent, 'ports'>,
): void {
  const stream = new EventStream(response);
  const send = ({ name, data }: GuestEvent): void => {
    if (stream.isBehind) stream.cut();
    else stream.send(name, JSON.stringify(data));
  };
  const stopWatching = ports.watch();
  send({ name: 'snapshot', data: { ...rest, ports: ports.list() } });
  const stopListening = events.subscribe(send);
  response.on('close', () => {
    stopListening();
    stopWatching();
  });
}
