import { lookup } from 'node:dns/promises';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { ROUTE_RESPONSE_HEADERS } from '#constructs/route-response-headers.ts';

export interface GatewayProbeOptions {
  /**
   * Host name or address of the gateway, as this process reaches it. A name of several addresses
   * stands for so many proxies, and all of them must serve.
   */
  readonly host: string;
  readonly port: number;
  /** Without it the gateway is spoken to in plain HTTP. */
  readonly tls?: {
    /** PEM of the authority behind the gateway's certificate; without it the system's. */
    readonly ca?: string | undefined;
    /** Whether its certificate must be good for the preview's host. */
    readonly verify: boolean;
  };
  /** Called for each failed connection that gave no answer. @default nothing is logged */
  readonly failed?: (failure: GatewayFailure) => void;
}

export interface GatewayFailure {
  readonly proxy: string;
  readonly hostname: string;
  /** TLS does not come about: another try fails in the same way. */
  readonly isTls: boolean;
  readonly error: NodeJS.ErrnoException;
}

/**
 * Who answered a request to a preview's host: the app behind it; its route, because nobody answered
 * behind it; the gateway itself, which may or may not have the route; `nothing` of the preview at
 * all, so the route is not there yet; or it is `unreachable`. `untrusted`: TLS with the gateway
 * fails, so no request was sent.
 */
export type Answerer = 'app' | 'route' | 'gateway' | 'nothing' | 'unreachable' | 'untrusted';

export interface GatewayProbe {
  /** Every proxy that must serve a route. */
  proxies(): Promise<readonly string[]>;
  /**
   * Asks one proxy for the host's page and looks at the head of the answer alone. Never rejects,
   * but when the signal aborts.
   */
  ask(proxy: string, hostname: string, signal: AbortSignal): Promise<Answerer>;
}

/** A gateway that cannot be connected to within this is not asked any longer, in milliseconds. */
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
          // The head says it all.
          resolve(answerer(response));
          response.destroy();
        });
        outgoing.end();
      }),
  };
}

/**
 * Whether a certificate is refused, or the other end speaks no TLS. Not where the gateway does not
 * know the name: it may know it once the route is there. Codes of
 * the operating system, such as ECONNRESET, come from a gateway that restarts, too.
 */
function isTlsFailure({ code = '' }: NodeJS.ErrnoException): boolean {
  if (code.includes('UNRECOGNIZED_NAME')) return false;
  return code === 'EPROTO' || (code !== '' && !/^E[A-Z0-9]+$/.test(code) && !code.startsWith('HPE_'));
}

/**
 * An answer that bears what the route sets has come through it. Gateways that set nothing on their
 * own errors leave it open.
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
  // A page of ours behind the route is the guest's: nothing listens.
  if (cameThroughRoute) return isGatewayError || isOurPage ? 'route' : 'app';
  if (isOurPage) return 'nothing';
  if (isGatewayError) return 'gateway';
  return statusCode === 404 ? 'nothing' : 'app';
}
