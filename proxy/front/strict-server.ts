import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ClientConnection, type Turn } from './client-connection.ts';
import { headTooLarge, MAX_PARSED_HEAD, type Refusal, refusal, rejectHostileHead } from './hostile-head.ts';

/**
 * Options of the one server that faces clients, for API and previews. Times in milliseconds, sizes
 * in bytes.
 */
export const strictServerOptions: ServerOptions = {
  insecureHTTPParser: false,
  // Validated with the rest of the head, so that a missing Host gets an answer that says so.
  requireHostHeader: false,
  maxHeaderSize: MAX_PARSED_HEAD,
  // A head that arrives too slowly is cut off; a body may take any time.
  headersTimeout: 15_000,
  requestTimeout: 0,
  connectionsCheckingInterval: 2_500,
  keepAliveTimeout: 60_000,
  noDelay: true,
  // Detects peers that are gone without a FIN, since WebSockets and event streams have no idle
  // timeout.
  keepAlive: true,
  keepAliveInitialDelay: 30_000,
  // Any other upgrade (h2c) is a plain request: RFC 9110 section 7.8 lets a server ignore it.
  shouldUpgradeCallback: (req) => req.headers.upgrade?.toLowerCase() === 'websocket',
};

export interface FrontHandlers {
  /** `expectsContinue`: the client holds its body back until `res.writeContinue()`. */
  request(req: IncomingMessage, res: ServerResponse, expectsContinue: boolean): void;
  /** A WebSocket handshake; `head` is what the client sent after it. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  /**
   * A request with too many cookies; false: not answered.
   * @default - the front refuses it
   */
  cookiesTooLarge?(req: IncomingMessage, res: ServerResponse): boolean;
}

/** A certificate with its chain, and its private key, in PEM. */
export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** A certificate that may be replaced while the server runs. */
export interface ServerCertificate {
  readonly pair: KeyPair;
  onReplaced(listener: (pair: KeyPair) => void): void;
}

/**
 * The strict front: handlers get only well-formed heads, one request of a connection at a time. It
 * answers everything else with `{error, code}` and ends the connection. Not listening yet. With a
 * certificate it speaks TLS.
 */
export function createStrictServer(
  handlers: FrontHandlers,
  options: ServerOptions = strictServerOptions,
  certificate?: ServerCertificate,
): Server {
  const connections = new WeakMap<Duplex, ClientConnection>();
  const connectionOf = (socket: Duplex): ClientConnection => {
    let connection = connections.get(socket);
    if (connection === undefined) {
      connection = new ClientConnection(socket);
      connections.set(socket, connection);
    }
    return connection;
  };
  const turn: Turn = (req, res, expectsContinue) => {
    const refusal = rejectHostileHead(req);
    // Node's parser reads nothing after a request with an Upgrade, even if it is ignored.
    if (req.headers.upgrade !== undefined) res.shouldKeepAlive = false;
    if (refusal === undefined) return handlers.request(req, res, expectsContinue);
    if (refusal.isOfCookies === true && handlers.cookiesTooLarge?.(req, res) === true) return;
    connectionOf(req.socket).refuse(refusal);
  };

  const listener: RequestListener = (req, res) => connectionOf(req.socket).serve(req, res, false, turn);
  const server =
    certificate === undefined
      ? createServer(options, listener)
      : createTlsServer(options, certificate, listener);
  // No silent limit: the checks would not see a header beyond Node's own count, and it could still
  // frame the request.
  server.maxHeadersCount = 0;
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
    connectionOf(req.socket).serve(req, res, true, turn);
  });
  server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Node leaves the socket without a listener; an error on it must not end the process.
    socket.on('error', () => socket.destroy());
    const connection = connectionOf(socket);
    const refusal = rejectHostileHead(req);
    if (!connection.mayUpgrade()) socket.destroy();
    else if (refusal !== undefined) connection.refuse(refusal);
    else handlers.upgrade(req, socket, head);
  });
  server.on('connect', (req: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    const refusal = rejectHostileHead(req);
    const connection = connectionOf(socket);
    if (refusal === undefined || !connection.mayUpgrade()) socket.destroy();
    else connection.refuse(refusal);
  });
  server.on('clientError', (error: ClientError, socket: Duplex) => {
    // Without a completed handshake no answer can be read.
    if (/^ERR_(?:SSL|TLS)_/.test(error.code ?? '')) {
      socket.destroy();
      return;
    }
    // A connection that never sent anything (a browser's preconnect) is closed without an answer.
    const silent = (socket as Socket).bytesRead === 0;
    connectionOf(socket).broken(silent ? undefined : parseFailure(error));
  });
  return server;
}

function createTlsServer(
  options: ServerOptions,
  certificate: ServerCertificate,
  listener: RequestListener,
): Server {
  const server = createSecureServer(
    {
      ...options,
      ...certificate.pair,
      ALPNProtocols: ['http/1.1'],
      handshakeTimeout: options.headersTimeout,
    },
    listener,
  );
  // Open connections keep the certificate that they began with.
  certificate.onReplaced((next) => server.setSecureContext(next));
  return server;
}

/** The error of Node's `clientError` event. `reason` is one of the parser's fixed sentences. */
interface ClientError extends Error {
  readonly code?: string;
  readonly reason?: string;
}

/**
 * The answer owed to a connection after an unreadable request; undefined if no client waits for
 * one.
 */
function parseFailure(error: ClientError): Refusal | undefined {
  switch (error.code ?? '') {
    case 'HPE_HEADER_OVERFLOW':
      return headTooLarge();
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return refusal('payload_too_large', 'The chunk extensions are too large. Send none.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return refusal('request_timeout', 'The request head did not arrive in time. Send it at once.');
    // Bytes after a request with `Connection: close`: that request's answer is the last one.
    case 'HPE_CLOSED_CONNECTION':
    case 'ECONNRESET':
    case 'EPIPE':
    case 'ETIMEDOUT':
      return undefined;
    default:
      return refusal(
        'invalid_request',
        `The request is not valid HTTP/1.1 (${error.reason ?? error.code ?? 'unreadable'}). Send it as RFC 9112 says.`,
      );
  }
}
