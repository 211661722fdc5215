import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpEvent } from '#handlers/http/http-event.ts';
import { NO_PROXIES } from '#proxy/client-address.ts';
import { checkHandshake, HandshakeResponse } from './handshake.ts';

/**
 * The event of one request of Node's server; its body is left unread.
 * @param path the URL's, without a query
 * @param params the router's; `*` is the rest of the path
 * @param proxies from which X-Forwarded-For is believed
 */
export function requestEvent(
  req: IncomingMessage,
  res: ServerResponse,
  requestId: string,
  path: string,
  params: HttpEvent['pathParameters'] = {},
  proxies = NO_PROXIES,
): HttpEvent {
  const { url = '/', method = 'GET', socket, headers } = req;
  const sourceIp = proxies.client(socket.remoteAddress, headers['x-forwarded-for']?.toString());
  let signal: AbortSignal | undefined;
  return {
    rawPath: path,
    rawQueryString: url.slice(path.length + 1),
    // Of request headers only Set-Cookie would be an array.
    headers: headers as HttpEvent['headers'],
    pathParameters: params,
    requestContext: { requestId, http: { method, sourceIp } },
    handshake: res instanceof HandshakeResponse ? { check: () => checkHandshake(req) } : undefined,
    bodyStream: () => req,
    /** Created when it is first read: most functions never do. */
    get signal() {
      return (signal ??= abortAtEnd(res));
    },
  };
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
