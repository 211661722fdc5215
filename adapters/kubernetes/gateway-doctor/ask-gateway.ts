import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';

/** A host name that the gateway serves, and where the gateway is. */
export interface GatewayTarget {
  readonly host: string;
  readonly port: number;
  readonly hostname: string;
  /** PEM. @default the authorities of Node */
  readonly ca?: string | undefined;
}

export interface GatewayRequest {
  readonly path: string;
  readonly method?: 'POST';
  readonly headers?: Readonly<Record<string, string | number>>;
  /** Writes the body, and ends the request. @default no body */
  readonly send?: (outgoing: ReturnType<typeof request>) => void;
}

/** The preview's host as browsers send it. */
export function publicHost({ hostname, port }: Pick<GatewayTarget, 'hostname' | 'port'>): string {
  return port === 443 ? hostname : `${hostname}:${port}`;
}

/** Connection options. One check is for the certificate, so that the others work without it. */
export function connectionTo({ host, port, hostname }: GatewayTarget) {
  return { host, port, servername: hostname, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] };
}

/** Resolves to the head of the answer. The signal ends the connection also after it. */
export function askGateway(
  target: GatewayTarget,
  { path, method, headers, send = (outgoing) => outgoing.end() }: GatewayRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      ...connectionTo(target),
      path,
      method,
      agent: false,
      signal,
      // Like browsers. A server that closes after an early answer could reset it away.
      headers: { host: publicHost(target), connection: 'keep-alive', ...headers },
    });
    outgoing.once('response', resolve).on('error', reject);
    send(outgoing);
  });
}

/** Why a request failed, in a few words. */
export function reasonOf(error: unknown): string {
  const { code, name, message, cause } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError' || (cause as Error | undefined)?.name === 'TimeoutError')
    return 'no answer in time';
  return code ?? message;
}
