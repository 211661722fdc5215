import { lookup } from 'node:dns/promises';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { ROUTE_RESPONSE_HEADERS } from '#constructs/route-response-headers.ts';

export interface GatewayProbeOptions {
  /**
   * Host name or address of the gateway, as reached from this process. Each address of a name is
   * one proxy, and all of them must serve.
   */
  readonly host: string;
  readonly port: number;
  /** Without it, the gateway is probed over plain HTTP. */
  readonly tls?: {
    /** PEM of the certificate authority of the gateway. Without it, the system's are used. */
    readonly ca?: string | undefined;
    /** Whether its certificate must be valid for the preview's host. */
    readonly verify: boolean;
  };
  /** Called for each connection that failed without a response. @default nothing is logged */
  readonly failed?: (failure: GatewayFailure) => void;
}

export interface GatewayFailure {
  readonly proxy: string;
  readonly hostname: string;
  /** The TLS handshake failed: a retry would fail in the same way. */
  readonly isTls: boolean;
  readonly error: NodeJS.ErrnoException;
}

/**
 * Who answered a request to a preview's host. `app`: the app. `route`: the route, because the app
 * did not answer. `gateway`: the gateway itself, with or without the route. `nothing`: the route
 * does not exist yet. `unreachable`: no connection. `untrusted`: the TLS handshake failed, so no
 * request was sent.
 */
export type Answerer = 'app' | 'route' | 'gateway' | 'nothing' | 'unreachable' | 'untrusted';

export interface GatewayProbe {
  /** Every proxy that must serve a route. */
  proxies(): Promise<readonly string[]>;
  /**
   * Requests the host's page from one proxy and reads only the response head. Rejects only when the
   * signal aborts.
   */
  ask(proxy: string, hostname: string, signal: AbortSignal): Promise<Answerer>;
}

/** Connect timeout, in milliseconds. */
const CONNECT_MS = 1_000;

export function createGatewayProbe({ host, port, tls, failed }: GatewayProbeOptions): GatewayProbe {
  return {
    async proxies() {
      const found = await lookup(host, { all: true }).catch(() => []);
      return [...new Set(found.map(({ address }) => address))];
    },

    ask: (proxy, hostname, signal) =>
      new Promise((resolve, reject) => {
        const options = {
          host: proxy,
          port,
          path: '/',
          agent: false,
          signal,
          setHost: false,
          headers: { host: hostname, accept: '*/*', 'user-agent': 'porthole-readiness', connection: 'close' },
        };
        const outgoing: ClientRequest =
          tls === undefined
            ? process.getBuiltinModule('node:http').request(options)
            : process.getBuiltinModule('node:https').request({
                ...options,
                servername: hostname,
                rejectUnauthorized: tls.verify,
                ...(tls.ca !== undefined && { ca: tls.ca }),
              });
        const slow = setTimeout(
          () => outgoing.destroy(new Error(`no connection within ${CONNECT_MS} ms`)),
          CONNECT_MS,
        );
        outgoing.once('socket', (socket) => socket.once('connect', () => clearTimeout(slow)));
        outgoing.once('close', () => clearTimeout(slow));
        outgoing.on('error', (error: NodeJS.ErrnoException) => {
          if (signal.aborted) return reject(signal.reason as Error);
          const isTls = tls !== undefined && isTlsFailure(error);
          failed?.({ proxy, hostname, isTls, error });
          resolve(isTls ? 'untrusted' : 'unreachable');
        });
        outgoing.once('response', (response) => {
          // Only the head is needed.
          resolve(answerer(response));
          response.destroy();
        });
        outgoing.end();
      }),
  };
}

/**
 * Whether the certificate is rejected or the peer does not speak TLS. An unrecognized name does not
 * count: the gateway may know it once the route is there. Operating system codes, such as
 * ECONNRESET, also come from a restarting gateway.
 */
function isTlsFailure({ code = '' }: NodeJS.ErrnoException): boolean {
  if (code.includes('UNRECOGNIZED_NAME')) return false;
  return code === 'EPROTO' || (code !== '' && !/^E[A-Z0-9]+$/.test(code) && !code.startsWith('HPE_'));
}

/**
 * A response with the headers that the route sets came through it. Without them, a gateway error is
 * inconclusive.
 */
export function answerer({
  statusCode = 0,
  headers,
}: Pick<IncomingMessage, 'statusCode' | 'headers'>): Answerer {
  const isOurPage = headers['x-porthole-status'] !== undefined;
  const isGatewayError = statusCode === 502 || statusCode === 503 || statusCode === 504;
  const cameThroughRoute = Object.entries(ROUTE_RESPONSE_HEADERS).every(
    ([name, value]) => headers[name.toLowerCase()] === value,
  );
  // A Porthole page through the route is from the guest: nothing listens.
  if (cameThroughRoute) return isGatewayError || isOurPage ? 'route' : 'app';
  if (isOurPage) return 'nothing';
  if (isGatewayError) return 'gateway';
  return statusCode === 404 ? 'nothing' : 'app';
}
