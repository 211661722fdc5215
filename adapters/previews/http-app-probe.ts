import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import type { AppProbe, HttpFinding } from '#core/previews/app-probe.ts';
import { anySignal } from '#base/concurrency.ts';
import { RESPONSE_FAULTS, type ResponseFault, type ResponseHead } from '#proxy/upstream/response-head.ts';
import { ResponseParser } from '#proxy/upstream/response-parser.ts';

/**
 * Timeout of a GET, in milliseconds. Dev servers compile a page on its first request; a slower one
 * is reported as `silent`.
 */
const GET_MS = 5_000;
/** Timeout of an upgrade, in milliseconds. A server without WebSockets may never answer. */
const UPGRADE_MS = 2_000;
const MAX_BODY_BYTES = 64 * 1024;

/**
 * The record type of a TLS alert (RFC 8446 section 5.1), which is how some TLS servers answer plain
 * HTTP.
 */
const TLS_ALERT = 0x15;

/**
 * The doctor's probes. Responses are parsed as strictly as in the gateway, so that a response it
 * would reject is reported.
 */
export const appProbe: AppProbe = {
  get: (stream, port, signal) => askForPage(stream, port, GET_MS, signal),

  async speaksTls(stream, signal) {
    const limit = AbortSignal.timeout(UPGRADE_MS);
    const until = anySignal(signal, limit);
    // The certificate does not matter: nothing is sent but the handshake.
    const tls = connectTls({ socket: stream, rejectUnauthorized: false, minVersion: 'TLSv1' });
    try {
      await Promise.race([
        once(tls, 'secureConnect', { signal: until }),
        once(tls, 'close', { signal: until }).then(() => Promise.reject(new Error('closed'))),
      ]);
      return true;
    } catch (error) {
      signal?.throwIfAborted();
      // A TLS alert shows that the server speaks TLS.
      return /^ERR_SSL_.*ALERT/.test((error as NodeJS.ErrnoException).code ?? '');
    } finally {
      tls.on('error', () => {}).destroy();
      stream.on('error', () => {}).destroy();
    }
  },

  async upgrade(stream, port, { path, protocol }, signal) {
    const key = randomBytes(16).toString('base64');
    const request = [
      `GET ${path} HTTP/1.1`,
      `Host: localhost:${port}`,
      `Origin: http://localhost:${port}`,
      'User-Agent: porthole-doctor',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      `Sec-WebSocket-Key: ${key}`,
      ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
    ];
    const { head } = await converse(stream, request, { patience: UPGRADE_MS, forUpgrade: true }, signal);
    if (head === undefined) return { upgrades: false };
    const { acceptsWebSocket } = await import('#proxy/exchange/websocket-exchange.ts');
    return { upgrades: head.status === 101 && acceptsWebSocket(head, key), status: head.status };
  },
};

/**
 * `GET /`, as the gateway would send it.
 * @param patience longest time for an answer, in milliseconds
 */
export async function askForPage(
  stream: Duplex,
  port: number,
  patience: number,
  signal?: AbortSignal,
): Promise<HttpFinding> {
  const request = [
    'GET / HTTP/1.1',
    `Host: localhost:${port}`,
    'User-Agent: porthole-doctor',
    'Accept: text/html,application/xhtml+xml,*/*;q=0.8',
    'Accept-Encoding: identity',
    'Connection: close',
  ];
  return httpFinding(await converse(stream, request, { patience }, signal));
}

function httpFinding({ first, head, body, fault, isLate }: Heard): HttpFinding {
  // The gateway forwards a truncated body, but not a malformed one.
  if (head !== undefined && (fault === undefined || fault === 'truncated')) {
    return { kind: 'answered', status: head.status, headers: headersOf(head), body };
  }
  if (first === TLS_ALERT) return { kind: 'tls' };
  if (fault !== undefined && first !== undefined) return { kind: 'malformed', what: RESPONSE_FAULTS[fault] };
  return { kind: isLate ? 'silent' : 'hung_up' };
}

/** The response up to its end, the size limit or the timeout. */
interface Heard {
  readonly first: number | undefined;
  readonly head: ResponseHead | undefined;
  /** Latin-1. */
  readonly body: string;
  readonly fault: ResponseFault | undefined;
  readonly isLate: boolean;
}

interface Patience {
  /** In milliseconds. */
  readonly patience: number;
  /** Only the head is needed, and it may be a 101. */
  readonly forUpgrade?: boolean;
}

/**
 * Sends one request on a stream, reads the response and destroys the stream. Never half-closes
 * first: many servers would drop the response.
 */
function converse(
  stream: Duplex,
  request: readonly string[],
  { patience, forUpgrade = false }: Patience,
  signal: AbortSignal | undefined,
): Promise<Heard> {
  const { promise, resolve, reject } = Promise.withResolvers<Heard>();
  const parser = new ResponseParser();
  const parts: Buffer[] = [];
  let length = 0;
  let first: number | undefined;
  let head: ResponseHead | undefined;
  let fault: ResponseFault | undefined;
  const leave = (isLate = false): void => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    parser.reset();
    stream.destroy();
    const body = Buffer.concat(parts).toString('latin1', 0, MAX_BODY_BYTES);
    resolve({ first, head, body, fault, isLate });
  };
  const abort = (): void => {
    reject(signal?.reason as Error);
    leave();
  };
  // After a stall of this process, what has arrived meanwhile is read before the time counts as up.
  const timer = setTimeout(() => setImmediate(leave, true), patience);
  const begin = (read: ResponseHead): void => {
    head = read;
    if (forUpgrade) leave();
  };
  const take = (part: Buffer): void => {
    parts.push(part);
    length += part.length;
    if (length >= MAX_BODY_BYTES) leave();
  };
  parser.expect(
    'GET',
    {
      informational: () => {},
      head: begin,
      body: take,
      end(last) {
        if (last !== undefined) take(last);
        leave();
      },
      upgraded: begin,
      fault(found) {
        fault = found;
        leave();
      },
    },
    forUpgrade,
  );
  stream.on('error', () => {});
  stream.on('data', (chunk: Buffer) => {
    first ??= chunk[0];
    parser.push(chunk);
  });
  stream.once('end', () => parser.finish());
  // Emitted after every end and every error.
  stream.once('close', () => leave());
  signal?.addEventListener('abort', abort);
  if (signal?.aborted) abort();
  else stream.write(`${request.join('\r\n')}\r\n\r\n`, 'latin1');
  return promise;
}

function headersOf({ rawHeaders }: ResponseHead): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase();
    if (!headers.has(name)) headers.set(name, rawHeaders[at + 1] as string);
  }
  return headers;
}
