import {
  Agent,
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect, createSecureContext, getCACertificates, type SecureContext, TLSSocket } from 'node:tls';
import { hostText, readHost } from '#core/network/network-host.ts';
import type { Destination } from '#core/network/network-policy.ts';
import { HTTPS_PORT, type NetworkSecret, withoutValues, withSecrets } from '#core/network/network-secrets.ts';
import { createStrictServer, strictServerOptions } from '#proxy/front/strict-server.ts';
import { splice } from '#proxy/splice.ts';
import { answerHeaders, framingHeaders, type Headers, requestHeaders } from './forwarded-headers.ts';
import { awaitSocketEvent, DialError } from './dial-destination.ts';

/** Timeout for a handshake, in milliseconds. */
const HANDSHAKE_MS = 15_000;

/** HTTP/2 has no single head to check and rewrite. */
const ALPN = ['http/1.1'];

/**
 * The authorities that this machine trusts, and those in the configuration of its package managers.
 */
export function trustedBy(certificates: string | undefined): SecureContext {
  return createSecureContext({
    ca: [
      ...getCACertificates('default'),
      ...getCACertificates('system'),
      ...(certificates === undefined ? [] : [certificates]),
    ],
  });
}

/** TLS to a host; its certificate is verified. @throws DialError */
export async function connectTls(
  socket: Socket,
  servername: string,
  secureContext: SecureContext,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const secure = connect({ socket, servername, secureContext, ALPNProtocols: ALPN });
  try {
    return await awaitSocketEvent(secure, 'secureConnect', HANDSHAKE_MS, signal);
  } catch (cause) {
    const { code = 'no answer' } = cause as NodeJS.ErrnoException;
    throw new DialError(`the TLS of ${servername} is not valid (${code})`, { cause });
  }
}

/** The server's side of a program's TLS. Rejects if the program refuses the certificate. */
export function acceptTls(
  client: Duplex,
  secureContext: SecureContext,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const secure = new TLSSocket(client, { isServer: true, secureContext, ALPNProtocols: ALPN });
  return awaitSocketEvent(secure, 'secure', HANDSHAKE_MS, signal);
}

/** One connection to the host for all requests of one connection of a program, as in a tunnel. */
class OneConnection extends Agent {
  readonly #server: TLSSocket;

  constructor(server: TLSSocket) {
    super({ keepAlive: true, maxSockets: 1 });
    this.#server = server;
  }

  override createConnection(): Duplex {
    return this.#server;
  }
}

export interface InterceptedHandlers {
  readonly destination: Destination;
  /** The secrets of the host, now. */
  secrets(): Promise<readonly NetworkSecret[]>;
  inserted(names: readonly string[]): void;
  passed(from: 'program' | 'host', count: number): void;
  /** A request names another host than the connection was opened for. */
  misdirected(host: string): void;
}

/**
 * Sends the requests of a program to the host, one at a time, with the values of the secrets. Each
 * head is parsed strictly and written anew (request smuggling). Redirects are the program's. Ends
 * both connections with either.
 */
export function serveIntercepted(program: TLSSocket, server: TLSSocket, handlers: InterceptedHandlers): void {
  const { destination } = handlers;
  const agent = new OneConnection(server);
  let open = 0;
  let hasEnded = false;
  const endIfIdle = (): void => {
    if (hasEnded && open === 0) program.end();
  };
  server.once('close', () => {
    hasEnded = true;
    agent.destroy();
    endIfIdle();
  });
  program.once('close', () => server.destroy());

  const send = async (
    request: IncomingMessage,
    upgrade: Record<string, string>,
  ): Promise<
    { readonly outgoing: ClientRequest; readonly secrets: readonly NetworkSecret[] } | undefined
  > => {
    const { method = '', url: target = '', headers } = request;
    const host = headers.host ?? '';
    if (!isFor(host, destination)) {
      handlers.misdirected(host);
      return undefined;
    }
    const secrets = await handlers.secrets();
    const filled = withSecrets({ method, target, headers: requestHeaders(request) }, secrets);
    handlers.inserted(filled.used);
    const outgoing = httpRequest({
      agent,
      method,
      path: filled.target,
      setHost: false,
      headers: { ...filled.headers, host, ...framingHeaders(request), ...upgrade },
    });
    return { outgoing, secrets };
  };

  const relay = (answer: IncomingMessage, response: ServerResponse, secrets: readonly NetworkSecret[]) => {
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, sealedHeaders(answer, secrets));
    // An event stream may stay silent for long after its head.
    response.flushHeaders();
    answer.on('data', (chunk: Buffer) => handlers.passed('host', chunk.length));
    answer.on('error', () => response.destroy());
    answer.pipe(response);
  };

  const failed = (): void => void program.destroy();

  const exchange = async (
    request: IncomingMessage,
    response: ServerResponse,
    expectsContinue: boolean,
  ): Promise<void> => {
    const sent = await send(request, {});
    if (sent === undefined) return;
    const { outgoing, secrets } = sent;
    outgoing.once('error', failed).once('response', (answer) => relay(answer, response, secrets));
    response.once('close', () => {
      if (!response.writableFinished) outgoing.destroy();
    });
    if (expectsContinue) response.writeContinue();
    request.on('data', (chunk: Buffer) => handlers.passed('program', chunk.length));
    request.on('error', failed);
    request.pipe(outgoing);
  };

  const upgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const sent = await send(request, { connection: 'Upgrade', upgrade: 'websocket' });
    if (sent === undefined) return;
    const { outgoing, secrets } = sent;
    outgoing
      .once('error', failed)
      .once('response', (answer) => {
        const response = new ServerResponse(request);
        response.shouldKeepAlive = false;
        response.assignSocket(socket as Socket);
        response.once('finish', () => socket.end());
        relay(answer, response, secrets);
      })
      .once('upgrade', (answer, upstream, rest) => {
        const lines = Object.entries(sealedHeaders(answer, secrets)).flatMap(([name, values]) =>
          values.map((value) => `${name}: ${value}\r\n`),
        );
        const start = 'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n';
        socket.write(`${start}${lines.join('')}\r\n`, 'latin1');
        if (rest.length > 0) upstream.unshift(rest);
        if (head.length > 0) socket.unshift(head);
        splice(socket, upstream, (from, { length }) =>
          handlers.passed(from === 'a' ? 'program' : 'host', length),
        );
      })
      .end();
  };

  const front = createStrictServer(
    {
      request(request, response, expectsContinue) {
        open += 1;
        response.once('close', () => {
          open -= 1;
          endIfIdle();
        });
        exchange(request, response, expectsContinue).catch(failed);
      },
      upgrade: (request, socket, head) => void upgrade(request, socket, head).catch(failed),
    },
    strictServerOptions,
  );
  front.emit('connection', program);
}

/** Hosts route by the Host header, not by the name in TLS (domain fronting). */
function isFor(header: string, { host, port }: Destination): boolean {
  const [, name = '', given] = /^(.*?)(?::(\d{1,5}))?$/.exec(header) ?? [];
  const named = readHost(name);
  return (
    named?.kind === host.kind && hostText(named) === hostText(host) && port === Number(given ?? HTTPS_PORT)
  );
}

function sealedHeaders(answer: IncomingMessage, secrets: readonly NetworkSecret[]): Headers {
  return Object.fromEntries(
    Object.entries(answerHeaders(answer)).map(([name, values]) => [
      name,
      values.map((value) => withoutValues(value, secrets)),
    ]),
  );
}
