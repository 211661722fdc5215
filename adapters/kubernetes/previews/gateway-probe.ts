import { lookup } from 'node:dns/promises';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { ROUTE_RESPONSE_HEADERS } from '#constructs/names.ts';

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
  };
  /** Called once for each problem, until the proxy answers. @default nothing is logged */
  readonly failed?: (failure: GatewayFailure) => void;
}

export interface GatewayFailure {
  readonly proxy: string;
  /** What is wrong, and the setting to change. */
  readonly problem: string;
}

/**
 * Who answered a request to a preview's host. `app`: the app. `rejected`: the app rejects the
 * request or fails, or is a TLS server, which answers plain HTTP with 400, or none that the gateway
 * understands. `failed`: the app with an empty 500, or the gateway, which has the route and not yet
 * its Service (the Gateway API wants a 500 for it). `guarded`: the guest, which lets only some
 * visitors pass to the app. `route`: the route, because the app did not answer. `gateway`: the
 * gateway itself, with or without the route. `nothing`: the route does not exist yet.
 * `unreachable`: no connection. `untrusted`: the TLS handshake failed, so no request was sent.
 */
export type Answerer =
  | 'app'
  | 'rejected'
  | 'failed'
  | 'guarded'
  | 'route'
  | 'gateway'
  | 'nothing'
  | 'unreachable'
  | 'untrusted';

export interface GatewayProbe {
  /** Every proxy that must serve a route. */
  proxies(): Promise<readonly string[]>;
  /**
   * Requests the host's page from one proxy and reads only the response head. Rejects only when the
   * signal aborts.
   */
  ask(proxy: string, hostname: string, signal: AbortSignal): Promise<Answerer>;
  /** Why proxies could not be asked the last time, with the setting to change. */
  problems(): readonly string[];
  /** End of the certificate of the last answer. Undefined without TLS or an answer. */
  certificateEnds(): Date | undefined;
}

/** Connect timeout, in milliseconds. */
const CONNECT_MS = 1_000;

export function createGatewayProbe({ host, port, tls, failed }: GatewayProbeOptions): GatewayProbe {
  /** By proxy. */
  const problems = new Map<string, string>();
  let certificateEnds: Date | undefined;
  const fail = (proxy: string, problem: string): void => {
    if (problems.get(proxy) === problem) return;
    problems.set(proxy, problem);
    failed?.({ proxy, problem });
  };
  return {
    async proxies() {
      const found = new Set<string>();
      try {
        for (const { address } of await lookup(host, { all: true })) found.add(address);
        problems.delete(host);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        fail(host, `The name in PORTHOLE_GATEWAY_PROBE has no address (${code}): ${CORRECT_PROBE}.`);
      }
      // A replaced proxy has another address.
      for (const proxy of problems.keys()) if (proxy !== host && !found.has(proxy)) problems.delete(proxy);
      return [...found];
    },

    problems: () => [...new Set(problems.values())],
    certificateEnds: () => certificateEnds,

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
          fail(proxy, isTls ? tlsProblem(error, hostname, tls.ca !== undefined) : unreachable(error));
          resolve(isTls ? 'untrusted' : 'unreachable');
        });
        outgoing.once('response', (response) => {
          problems.delete(proxy);
          if (tls !== undefined) {
            const { valid_to: end } = (response.socket as TLSSocket).getPeerCertificate();
            certificateEnds = new Date(end);
          }
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

const CORRECT_PROBE = 'set PORTHOLE_GATEWAY_PROBE to the URL at which Porthole reaches the gateway';

function unreachable({ code, message }: NodeJS.ErrnoException): string {
  return `The gateway does not answer (${code ?? message}): ${CORRECT_PROBE}.`;
}

/** Without the host: its name contains the preview's token. */
function tlsProblem({ code = '' }: NodeJS.ErrnoException, hostname: string, hasCa: boolean): string {
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return `The gateway's certificate has expired (${code}): renew it.`;
    case 'CERT_NOT_YET_VALID':
      return `The gateway's certificate is not valid yet (${code}): correct the clock of this machine, or issue it again.`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID': {
      const names = `*${hostname.slice(hostname.indexOf('.'))}`;
      return `The gateway's certificate is not valid for ${names} (${code}): issue one for that name, or ${CORRECT_PROBE}.`;
    }
  }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) {
    return `The TLS handshake with the gateway fails (${code}): PORTHOLE_GATEWAY_PROBE must be an https URL of its TLS port, or an http URL.`;
  }
  return hasCa
    ? `The gateway's certificate is not signed by the authority in PORTHOLE_GATEWAY_CA (${code}): set it to the PEM file of its authority (in a stack: gateway.probe.ca).`
    : `The gateway's certificate is not signed by an authority of the system (${code}): set PORTHOLE_GATEWAY_CA to the PEM file of its authority (in a stack: gateway.probe.ca).`;
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
  if (cameThroughRoute && headers['x-porthole-status'] === 'access_required') return 'guarded';
  // A Porthole page through the route is from the guest: nothing listens.
  if (cameThroughRoute && (isGatewayError || isOurPage)) return 'route';
  if (cameThroughRoute && statusCode === 500 && headers['content-type'] === undefined) return 'failed';
  if (cameThroughRoute) return statusCode === 400 || statusCode === 500 ? 'rejected' : 'app';
  if (isOurPage) return 'nothing';
  if (isGatewayError) return 'gateway';
  return statusCode === 404 ? 'nothing' : 'app';
}
