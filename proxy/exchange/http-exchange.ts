import type { IncomingMessage, ServerResponse } from 'node:http';
import { asksForScript, HotReloadPort, isPlainScript } from '../hot-reload-port.ts';
import { asksForPage, ElementInsertion, isPlainPage, policiesOf } from '../localhost/insert-element.ts';
import { localhostElement } from '../localhost/localhost-script.ts';
import type { PreviewTarget } from '../preview-target.ts';
import { hintedLinks } from './early-hints.ts';
import type { Visit } from '../access/access-gate.ts';
import { sendAway } from '../access/entrance.ts';
import type { OpenExchange, PreviewBackend } from './preview-backend.ts';
import {
  type BodyFraming,
  bodyFraming,
  privateHeaders,
  requestHead,
  responseHeaders,
} from '../preview-headers.ts';
import type { AdmittedRequest, PreviewProxyDeps } from '../preview-proxy-deps.ts';
import { answerWithPage, dropRest } from '../status-answer.ts';
import type { PreviewStatus, StatusPageContext } from '../status-page.ts';
import { RESPONSE_FAULTS, type ResponseFault, type ResponseHead } from '../upstream/response-head.ts';
import type { ResponseEvents } from '../upstream/response-parser.ts';
import type { ConnectionUser, UpstreamConnection } from '../upstream/upstream-connection.ts';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const CRLF = '\r\n';

/** Changes a body, streaming. */
interface BodyRewriter {
  /** Returns the bytes that may be sent. */
  push(part: Buffer): Buffer;
  /** Returns the last bytes, including those held back. */
  finish(last?: Buffer): Buffer;
}

function rewrites(req: IncomingMessage, { mapsLocalhost }: PreviewTarget): 'script' | 'page' | undefined {
  if (asksForScript(req)) return 'script';
  return mapsLocalhost === true && asksForPage(req) ? 'page' : undefined;
}

/**
 * One request and its response, streamed both ways. Ends with the response's `close`, for any
 * reason.
 */
export class HttpExchange implements OpenExchange, ConnectionUser, ResponseEvents {
  readonly isUpgrade = false;
  readonly #deps: PreviewProxyDeps;
  readonly #backend: PreviewBackend;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #expectsContinue: boolean;
  readonly #admitted: AdmittedRequest;
  readonly #framing: BodyFraming;
  /** What may be rewritten in the answer, which is then requested without encoding. */
  readonly #rewrites: 'script' | 'page' | undefined;
  #rewriter: BodyRewriter | undefined;
  /**
   * May be sent again if a kept-alive connection turns out to be dead: safe, and no part of it is
   * consumed.
   */
  readonly #repeatable: boolean;
  #connection: UpstreamConnection | undefined;
  #dialling: AbortController | undefined;
  /** The connection had carried a request before. */
  #reused = false;
  /** The app has sent something. */
  #answered = false;
  #requestSent = false;
  #headSent = false;
  #flushed = false;
  /** The client is slower than the app: the app's connection is paused. */
  #held = false;
  /** The client has the whole answer, or is gone. */
  #over = false;
  #fromClient = 0;
  #toClient = 0;

  constructor(
    deps: PreviewProxyDeps,
    backend: PreviewBackend,
    request: {
      readonly req: IncomingMessage;
      readonly res: ServerResponse;
      readonly expectsContinue: boolean;
      readonly admitted: AdmittedRequest;
    },
  ) {
    this.#deps = deps;
    this.#backend = backend;
    this.#req = request.req;
    this.#res = request.res;
    this.#expectsContinue = request.expectsContinue;
    this.#admitted = request.admitted;
    this.#framing = bodyFraming(request.req);
    this.#rewrites = rewrites(request.req, backend.target);
    this.#repeatable = !this.#hasBody && SAFE_METHODS.has(request.req.method ?? '');
  }

  start(): void {
    this.#backend.add(this);
    this.#res.on('close', () => this.#clientDone());
    const kept = this.#backend.pool.take(this.#repeatable);
    if (kept === undefined) void this.#dial();
    else {
      this.#reused = true;
      this.#send(kept);
    }
  }

  get visit(): Visit | undefined {
    return this.#admitted.visit;
  }

  get enteredBy(): string {
    return this.#admitted.enteredBy;
  }

  abort(): void {
    this.#res.destroy();
  }

  get #hasBody(): boolean {
    return this.#framing === 'chunked' || (this.#framing !== 'none' && this.#framing > 0);
  }

  async #dial(): Promise<void> {
    const dialling = new AbortController();
    this.#dialling = dialling;
    this.#reused = false;
    try {
      const connection = await this.#backend.pool.open(dialling.signal);
      if (this.#over) this.#backend.pool.give(connection);
      else this.#send(connection);
    } catch (error) {
      if (!this.#over) this.#answerFailure(this.#deps.dialFailure(error));
    }
    this.#dialling = undefined;
  }

  #send(connection: UpstreamConnection): void {
    this.#connection = connection;
    connection.use(this);
    connection.parser.expect(this.#req.method ?? '', this);
    this.#backend.touch();
    const head = requestHead(this.#req, this.#admitted.view, {
      origin: this.#admitted.origin,
      upgrade: false,
      plain: this.#rewrites !== undefined,
      client: this.#admitted.client,
      trace: this.#admitted.trace?.headers,
      viewer: this.#admitted.visit?.about,
    });
    connection.socket.write(head, 'latin1');
    if (this.#hasBody) this.#sendBody();
    else this.#requestSent = true;
  }

  #sendBody(): void {
    if (this.#expectsContinue) this.#res.writeContinue();
    this.#req.on('data', this.#onRequestData);
    this.#req.on('end', this.#onRequestEnd);
  }

  readonly #onRequestData = (part: Buffer): void => {
    const socket = this.#connection?.socket;
    if (socket === undefined) return;
    this.#fromClient += part.length;
    this.#backend.touch();
    let more: boolean;
    if (this.#framing === 'chunked') {
      socket.cork();
      socket.write(part.length.toString(16) + CRLF, 'latin1');
      socket.write(part);
      more = socket.write(CRLF, 'latin1');
      socket.uncork();
    } else more = socket.write(part);
    if (!more) this.#req.pause();
  };

  readonly #onRequestEnd = (): void => {
    this.#requestSent = true;
    if (this.#framing === 'chunked') this.#connection?.socket.write(`0${CRLF}${CRLF}`, 'latin1');
  };

  // Events of the connection to the app.

  received(bytes: Buffer): void {
    this.#answered = true;
    this.#backend.touch();
    this.#connection?.parser.push(bytes);
    if (this.#headSent && !this.#flushed && !this.#over) {
      // Send the head now: an event stream may stay silent for long after it.
      this.#flushed = true;
      this.#res.flushHeaders();
    }
  }

  drained(): void {
    if (!this.#requestSent) this.#req.resume();
  }

  ended(): void {
    this.#connection?.parser.finish();
  }

  closed(): void {
    if (this.#connection === undefined) return;
    this.#connection.parser.reset();
    this.fault(this.#headSent ? 'truncated' : 'closed_early');
  }

  // Events of the response parser.

  informational(head: ResponseHead): void {
    if (head.status !== 103 || this.#req.httpVersion !== '1.1') return;
    const links = hintedLinks(head);
    try {
      if (links.length > 0) this.#res.writeEarlyHints({ link: [...links] });
    } catch {
      // Node rejects characters that no header may have. A lost hint does no harm.
    }
  }

  head(head: ResponseHead): void {
    this.#headSent = true;
    const { view } = this.#admitted;
    this.#rewriter = this.#rewriterOf(head);
    // The length of a page that gets an element differs from the app's.
    const framed = this.#rewriter instanceof ElementInsertion ? { ...head, contentLength: undefined } : head;
    const isLimited = this.#admitted.visit !== undefined;
    const ancestors = this.#deps.frameAncestors(this.#backend.target);
    const sent = responseHeaders(framed, view, ancestors, isLimited);
    const headers = isLimited ? privateHeaders(sent) : sent;
    if (this.#admitted.setCookie !== undefined) headers.push('Set-Cookie', this.#admitted.setCookie);
    this.#res.writeHead(head.status, head.reason, headers);
    this.#deps.metrics.answered(head.status, 'app');
  }

  #rewriterOf(head: ResponseHead): BodyRewriter | undefined {
    const { below, targetPort } = this.#admitted.view;
    if (this.#rewrites === 'script' && isPlainScript(head)) return new HotReloadPort(targetPort);
    if (this.#rewrites !== 'page' || !isPlainPage(head)) return undefined;
    return new ElementInsertion(localhostElement(below?.pagePort ?? targetPort, policiesOf(head)));
  }

  body(sent: Buffer): void {
    const part = this.#rewriter?.push(sent) ?? sent;
    if (part.length === 0) return;
    this.#toClient += part.length;
    const { socket } = this.#res;
    if (socket === null) return;
    // A body with a length needs nothing of `res` once the head is sent.
    const out = this.#res.chunkedEncoding ? this.#res : socket;
    const first = !this.#flushed;
    if (first) {
      this.#flushed = true;
      socket.cork();
      this.#res.flushHeaders();
    }
    const more = out.write(part);
    if (first) socket.uncork();
    if (more || this.#held) return;
    this.#held = true;
    this.#connection?.socket.pause();
    out.once('drain', this.#onClientDrain);
  }

  readonly #onClientDrain = (): void => {
    this.#held = false;
    this.#backend.touch();
    this.#connection?.socket.resume();
  };

  end(sent: Buffer | undefined, reusable: boolean): void {
    this.#over = true;
    const connection = this.#release();
    const last = this.#rewriter?.finish(sent) ?? sent;
    if (last === undefined || last.length === 0) this.#res.end();
    else {
      this.#toClient += last.length;
      this.#res.end(last);
    }
    if (connection === undefined) return;
    if (reusable && this.#requestSent) this.#backend.pool.give(connection);
    else connection.destroy();
    this.#dropRequest();
  }

  upgraded(): void {
    this.fault('unasked_upgrade');
  }

  fault(fault: ResponseFault): void {
    this.#release()?.destroy();
    if (this.#over) return;
    if (this.#headSent) {
      // A clean end would make a partial answer look complete.
      this.#res.destroy();
    } else if (this.#reused && this.#repeatable && !this.#answered) {
      void this.#dial();
    } else {
      this.#deps.log.debug(
        { preview: this.#deps.fingerprint(this.#backend.target.token), fault },
        'a preview’s server did not answer properly',
      );
      this.#answer('bad_response', { detail: RESPONSE_FAULTS[fault] });
    }
  }

  #release(): UpstreamConnection | undefined {
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.use(undefined);
    return connection;
  }

  /** A person who opens a stopped preview is sent to where it starts. */
  #answerFailure(status: PreviewStatus): void {
    const { gate, metrics } = this.#deps;
    const { enteredBy } = this.#admitted;
    const location = status === 'sandbox_stopped' ? gate?.wake(this.#req, enteredBy) : undefined;
    if (location === undefined) return this.#answer(status);
    this.#over = true;
    sendAway(this.#req, this.#res, location);
    metrics.answered(this.#res.statusCode, status);
  }

  #answer(status: PreviewStatus, context: StatusPageContext = {}): void {
    this.#over = true;
    // A client that got no 100 Continue may or may not send its body: only closing is unambiguous.
    const close = this.#expectsContinue && !this.#requestSent;
    const { targetPort } = this.#backend.target;
    answerWithPage(this.#req, this.#res, status, { targetPort, ...context }, close);
    this.#deps.metrics.answered(this.#res.statusCode, status);
    this.#dropRequest();
  }

  #dropRequest(): void {
    if (this.#requestSent || !this.#hasBody) return;
    this.#req.off('data', this.#onRequestData);
    this.#req.off('end', this.#onRequestEnd);
    dropRest(this.#req);
  }

  /** The response is sent, or the client is gone. */
  #clientDone(): void {
    this.#over = true;
    this.#dialling?.abort();
    this.#release()?.destroy();
    this.#backend.remove(this);
    this.#admitted.trace?.end(this.#res.headersSent ? this.#res.statusCode : undefined);
    this.#deps.metrics.bytes(this.#fromClient, this.#toClient, this.#backend.target);
  }
}
