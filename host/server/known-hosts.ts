import { type ServerResponse, STATUS_CODES } from 'node:http';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { ERROR_CATALOGUE, type ErrorCode } from '#base/errors.ts';

interface KnownHostsOptions {
  readonly listenHost: string;
  readonly publicUrl: URL | undefined;
  readonly allowedHosts: readonly string[];
}

/**
 * Host headers that the API answers to. It refuses all others: with DNS rebinding a foreign page
 * could otherwise reach the API under the page's host name. A host that listens on every address
 * accepts every IP address: an IP address cannot be rebound.
 */
export function knownHosts(options: KnownHostsOptions): (hostHeader: string) => boolean {
  const isOpen = isWildcard(options.listenHost);
  const names = namesOf(options);
  if (options.publicUrl !== undefined) names.add(options.publicUrl.hostname.toLowerCase());
  return (hostHeader) => {
    const name = hostHeader.replace(/:\d{1,5}$/, '').toLowerCase();
    return names.has(name) || (isOpen && isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0);
  };
}

/**
 * The origins of the console's pages, for `frame-ancestors`. CSP has no syntax for IPv6 literals,
 * so they are left out.
 */
export function consoleOrigins(options: KnownHostsOptions, port: number): string[] {
  if (options.publicUrl !== undefined) return [options.publicUrl.origin];
  return [...namesOf(options)]
    .filter((name) => /^[a-z0-9.-]+$/.test(name))
    .map((name) => `http://${name}:${port}`);
}

function namesOf({ listenHost, allowedHosts }: KnownHostsOptions): Set<string> {
  const names = new Set(['localhost', '127.0.0.1', '[::1]', ...allowedHosts]);
  if (!isWildcard(listenHost)) {
    names.add(listenHost.includes(':') ? `[${listenHost}]` : listenHost.toLowerCase());
  }
  return names;
}

/** Whether a listen address means every address of the machine. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

function errorText(code: ErrorCode, message: string): string {
  return JSON.stringify({ error: message, code, retryable: ERROR_CATALOGUE[code].retryable });
}

/** Refuses a request that reaches no function, and ends its connection. */
export function refuse(res: ServerResponse, code: ErrorCode, message: string): void {
  const body = errorText(code, message);
  res.writeHead(ERROR_CATALOGUE[code].status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
    connection: 'close',
  });
  res.end(body);
}

/** Refuses an upgrade on the raw socket. */
export function refuseUpgrade(socket: Duplex, code: ErrorCode, message: string): void {
  const { status } = ERROR_CATALOGUE[code];
  const body = errorText(code, message);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
