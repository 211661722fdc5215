import type { IncomingMessage } from 'node:http';
import { type ClientOptions, WebSocket } from 'ws';
import type { Socket } from '../resources/open-socket.ts';

/** The types of ws do not include `closeTimeout` yet. */
const OPTIONS: ClientOptions & { readonly closeTimeout: number } = {
  /** Maximum size of one message, in bytes. */
  maxPayload: 16_777_216,
  perMessageDeflate: false,
  /** How long the other side may take to close, in milliseconds. */
  closeTimeout: 2_000,
};
/** Limit for a refused handshake's body, in characters: the API's errors are shorter. */
const MAX_REFUSAL = 4_096;

/** A WebSocket with the credential in the Authorization header, in every Node from 20 on. */
export function openNodeSocket(url: URL, authorization: string | undefined): Socket {
  return new NodeSocket(url, authorization);
}

/** A WebSocket with the reason of a failure in its `close` event, which ws omits. */
class NodeSocket extends WebSocket implements Socket {
  #failure: { readonly code: number; readonly reason: string } | undefined;

  constructor(url: URL, authorization: string | undefined) {
    super(url, { ...OPTIONS, headers: authorization === undefined ? {} : { authorization } });
    this.on('error', ({ message }) => (this.#failure ??= { code: 1006, reason: message }));
    this.on('unexpected-response', (_request, response) => this.#refused(response));
  }

  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event !== 'close' || this.#failure === undefined) return super.emit(event, ...args);
    return super.emit(event, this.#failure.code, Buffer.from(this.#failure.reason));
  }

  #refused(response: IncomingMessage): void {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => (text = (text + chunk).slice(0, MAX_REFUSAL)));
    response.once('close', () => {
      const { statusCode = 0 } = response;
      // A 5xx is temporary: 1013 (try again later).
      this.#failure = { code: statusCode >= 500 ? 1013 : 1008, reason: refusal(statusCode, text) };
      this.terminate();
    });
  }
}

/** The API's message, if the response is the API's. */
function refusal(status: number, text: string): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    if (typeof error === 'string') return error;
  } catch {
    // The status reports it.
  }
  return `the handshake was answered with status ${status}`;
}
