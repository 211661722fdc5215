import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { endWith } from '../front/raw-answer.ts';
import type { Visit } from '../access/access-gate.ts';
import type { OpenExchange, PreviewBackend } from './preview-backend.ts';
import { requestHead, responseHeaders } from '../preview-headers.ts';
import type { AdmittedRequest, PreviewProxyDeps } from '../preview-proxy-deps.ts';
import { SilentClient } from './silent-client.ts';
import { splice } from '../splice.ts';
import { rawPageAnswer } from '../status-answer.ts';
import type { PreviewStatus, StatusPageContext } from '../status-page.ts';
import {
  namesOption,
  RESPONSE_FAULTS,
  type ResponseFault,
  type ResponseHead,
} from '../upstream/response-head.ts';
import type { ResponseEvents } from '../upstream/response-parser.ts';
import type { ConnectionUser, UpstreamConnection } from '../upstream/upstream-connection.ts';

/** RFC 6455 section 1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Whether a Sec-WebSocket-Key is valid under RFC 6455: 16 bytes in base64. */
export function isWebSocketKey(key: string | undefined): key is string {
  return key !== undefined && /^[A-Za-z0-9+/]{22}==$/.test(key);
}

/** Whether a 101 is the answer to the handshake with this key. */
export function acceptsWebSocket(head: ResponseHead, key: string): boolean {
  const expected = createHash('sha1')
    .update(key + GUID)
    .digest('base64');
  return (
    headerOf(head, 'upgrade').join().toLowerCase() === 'websocket' &&
    namesOption(head.connection, 'upgrade') &&
    headerOf(head, 'sec-websocket-accept').join() === expected
  );
}

function headerOf(head: ResponseHead, lowerName: string): string[] {
  return head.rawHeaders.filter(
    (_, at) => at % 2 === 1 && head.rawHeaders[at - 1]?.toLowerCase() === lowerName,
  );
}

/**
 * One WebSocket: a handshake that both sides must complete correctly, then bytes. Sends no client
 * bytes after the handshake until the app has agreed to it, so that a refused upgrade cannot carry
 * a hidden request.
 */
export class WebSocketExchange implements OpenExchange, ConnectionUser, ResponseEvents {
  readonly isUpgrade = true;
  readonly #deps: PreviewProxyDeps;
  readonly #backend: PreviewBackend;
  readonly #req: IncomingMessage;
  readonly #client: Duplex;
  readonly #early: Buffer;
  readonly #key: string;
  readonly #admitted: AdmittedRequest;
  readonly #dialling = new AbortController();
  #connection: UpstreamConnection | undefined;
  #upstream: Duplex | undefined;
  #silence: SilentClient | undefined;
  #headSent = false;
  /** The client has its answer, or is gone. */
  #over = false;
  #fromClient = 0;
  #toClient = 0;
  readonly #onClientEnd = (): void => this.abort();

  /** `key` is the handshake's Sec-WebSocket-Key, `early` what the client sent after it. */
  constructor(
    deps: PreviewProxyDeps,
    backend: PreviewBackend,
    request: {
      readonly req: IncomingMessage;
      readonly socket: Duplex;
      readonly early: Buffer;
      readonly key: string;
      readonly admitted: AdmittedRequest;
    },
  ) {
    this.#deps = deps;
    this.#backend = backend;
    this.#req = request.req;
    this.#client = request.socket;
    this.#early = request.early;
    this.#key = request.key;
    this.#admitted = request.admitted;
  }

  start(): void {
    this.#backend.add(this);
    this.#client.on('close', () => this.#clientDone());
    this.#client.on('end', this.#onClientEnd);
    void this.#dial();
  }

  async #dial(): Promise<void> {
    try {
      const connection = await this.#backend.pool.open(this.#dialling.signal);
      if (this.#over) connection.destroy();
      else this.#send(connection);
    } catch (error) {
      if (!this.#over) this.#answer(this.#deps.dialFailure(error));
    }
  }

  get visit(): Visit | undefined {
    return this.#admitted.visit;
  }

  get enteredBy(): string {
    return this.#admitted.enteredBy;
  }

  abort(): void {
    this.#client.destroy();
  }

  #send(connection: UpstreamConnection): void {
    this.#connection = connection;
    connection.use(this);
    connection.parser.expect('GET', this, true);
    this.#backend.touch();
    const head = requestHead(this.#req, this.#admitted.view, {
      origin: this.#admitted.origin,
      upgrade: true,
      plain: false,
      client: this.#admitted.client,
      trace: this.#admitted.trace?.headers,
      viewer: this.#admitted.visit?.about,
    });
    connection.socket.write(head, 'latin1');
  }

  // Events of the connection to the app, until it has agreed.

  received(bytes: Buffer): void {
    this.#backend.touch();
    this.#connection?.parser.push(bytes);
  }

  drained(): void {}

  ended(): void {
    this.#connection?.parser.finish();
  }

  closed(): void {
    if (this.#connection === undefined) return;
    this.#connection.parser.reset();
    this.fault(this.#headSent ? 'truncated' : 'closed_early');
  }

  // Events of the response parser.

  informational(): void {}

  upgraded(head: ResponseHead, rest: Buffer): void {
    if (!acceptsWebSocket(head, this.#key)) return this.fault('bad_upgrade');
    const upstream = this.#connection?.detach();
    if (upstream === undefined) return;
    this.#connection = undefined;
    this.#upstream = upstream;
    this.#headSent = true;
    this.#client.off('end', this.#onClientEnd);
    this.#admitted.trace?.end(101);
    this.#deps.metrics.answered(101, 'app');
    this.#deps.metrics.upgrades(1);
    this.#client.write(this.#rawHead(head, 'Connection: Upgrade\r\nUpgrade: websocket\r\n'), 'latin1');
    if (rest.length > 0) this.#client.write(rest);
    if (this.#early.length > 0) upstream.write(this.#early);
    this.#fromClient += this.#early.length;
    this.#toClient += rest.length;
    const silence = new SilentClient(this.#client);
    this.#silence = silence;
    silence.sent(rest);
    splice(this.#client, upstream, (from, bytes) => {
      this.#backend.touch();
      if (from === 'b') {
        this.#toClient += bytes.length;
        silence.sent(bytes);
      } else {
        this.#fromClient += bytes.length;
        silence.heard();
      }
    });
  }

  /**
   * The app declined: its answer is sent to the client unchanged, and the connection ends with it.
   */
  head(head: ResponseHead): void {
    this.#headSent = true;
    this.#admitted.trace?.end(head.status);
    this.#deps.metrics.answered(head.status, 'app');
    this.#client.on('drain', () => this.#connection?.socket.resume());
    this.#client.write(this.#rawHead(head, 'Connection: close\r\n'), 'latin1');
  }

  body(part: Buffer): void {
    this.#toClient += part.length;
    if (!this.#client.write(part)) this.#connection?.socket.pause();
  }

  end(last: Buffer | undefined): void {
    this.#over = true;
    this.#release()?.destroy();
    this.#toClient += last?.length ?? 0;
    endWith(this.#client, last?.toString('latin1') ?? '');
  }

  fault(fault: ResponseFault): void {
    this.#release()?.destroy();
    if (this.#over) return;
    if (this.#headSent) {
      this.#client.destroy();
      return;
    }
    this.#deps.log.debug(
      { preview: this.#deps.fingerprint(this.#backend.target.token), fault },
      'a preview’s server did not answer a WebSocket handshake properly',
    );
    this.#answer('bad_response', { detail: RESPONSE_FAULTS[fault] });
  }

  #rawHead(head: ResponseHead, connection: string): string {
    const headers = responseHeaders(
      head,
      this.#admitted.view,
      this.#deps.frameAncestors(this.#backend.target),
    );
    let text = `HTTP/1.1 ${head.status} ${head.reason}\r\n`;
    for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`;
    return `${text}${connection}\r\n`;
  }

  #release(): UpstreamConnection | undefined {
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.use(undefined);
    return connection;
  }

  #answer(status: PreviewStatus, context: StatusPageContext = {}): void {
    this.#over = true;
    const { targetPort } = this.#backend.target;
    const { statusCode, bytes } = rawPageAnswer(this.#req, status, { targetPort, ...context });
    this.#admitted.trace?.end(statusCode);
    this.#deps.metrics.answered(statusCode, status);
    endWith(this.#client, bytes);
  }

  #clientDone(): void {
    this.#over = true;
    this.#dialling.abort();
    this.#release()?.destroy();
    this.#silence?.close();
    if (this.#upstream !== undefined) this.#deps.metrics.upgrades(-1);
    this.#backend.remove(this);
    this.#admitted.trace?.end(undefined);
    this.#deps.metrics.bytes(this.#fromClient, this.#toClient, this.#backend.target);
  }
}
