import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Handshake, HttpEvent } from '#handlers/http/http-event.ts';
import { checkHandshake, HandshakeResponse } from './handshake.ts';

/** The event of one request of Node's server; its body is left unread. */
export class RequestEvent implements HttpEvent {
  readonly rawPath: string;
  readonly rawQueryString: string;
  readonly headers: HttpEvent['headers'];
  readonly pathParameters: Readonly<Record<string, string | undefined>>;
  readonly requestContext: {
    readonly requestId: string;
    readonly http: { readonly method: string; readonly sourceIp: string | undefined };
  };
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  #signal: AbortSignal | undefined;

  /**
   * @param path the URL's, without a query
   * @param named the router's parameters; `*` is the rest of the path
   */
  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    requestId: string,
    path: string,
    named: Readonly<Record<string, string | undefined>> = {},
  ) {
    const { url = '/', method = 'GET', socket } = req;
    this.rawPath = path;
    this.rawQueryString = url.slice(path.length + 1);
    // Of request headers only Set-Cookie would be an array.
    this.headers = req.headers as HttpEvent['headers'];
    this.pathParameters = named;
    this.requestContext = { requestId, http: { method, sourceIp: socket.remoteAddress } };
    this.#req = req;
    this.#res = res;
  }

  get handshake(): Handshake | undefined {
    return this.#res instanceof HandshakeResponse ? { check: () => checkHandshake(this.#req) } : undefined;
  }

  bodyStream(): Readable {
    return this.#req;
  }

  /** Created when it is first read: most functions never do. */
  get signal(): AbortSignal {
    return (this.#signal ??= abortAtEnd(this.#res));
  }
}

/** One for all: an exception with its stack costs more than closing a connection. */
const DISCONNECTED = new DOMException('The client has disconnected', 'AbortError');

/**
 * Aborts when the connection breaks before the answer is complete. Of a handshake: when the
 * connection ends, however it does.
 */
function abortAtEnd(res: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const isHandshake = res instanceof HandshakeResponse;
  const source = isHandshake ? res.peer : res;
  const end = () => {
    if (isHandshake || !res.writableFinished) controller.abort(DISCONNECTED);
  };
  if (source.destroyed) end();
  else source.once('close', end);
  return controller.signal;
}
