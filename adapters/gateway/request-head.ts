import type { IncomingMessage } from 'node:http';
import { namedInConnection, requestHeaderPasses } from './forwarded-header.ts';
import { portOf, type Scheme } from './preview-origin.ts';

/** How the body of a request is framed, taken from what the strict front has let through. */
export type BodyFraming = 'none' | 'chunked' | number;

export function bodyFraming(req: IncomingMessage): BodyFraming {
  if (req.headers['transfer-encoding'] !== undefined) return 'chunked';
  const length = req.headers['content-length'];
  return length === undefined ? 'none' : Number(length);
}

export interface RequestRewrite {
  readonly scheme: Scheme;
  readonly targetPort: number;
  /** Replace Origin, where there is one, by the app's own. */
  readonly rewriteOrigin: boolean;
  /** Ask for a WebSocket. */
  readonly upgrade: boolean;
}

/**
 * The request head as the app gets it (Latin-1): as though its own browser on `localhost` had asked, with what the gateway
 * knows in `X-Forwarded-*`, said once whatever the client claimed. Framing is written anew, never copied.
 */
export function requestHead(req: IncomingMessage, rewrite: RequestRewrite): string {
  const { rawHeaders } = req;
  const host = req.headers.host ?? '';
  const dropped = namedInConnection(req.headers.connection);
  let head = `${req.method} ${req.url} HTTP/1.1\r\nHost: localhost:${rewrite.targetPort}\r\n`;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const lower = name.toLowerCase();
    if (!requestHeaderPasses(lower) || dropped?.has(lower)) continue;
    head +=
      lower === 'origin' && rewrite.rewriteOrigin
        ? `${name}: http://localhost:${rewrite.targetPort}\r\n`
        : `${name}: ${rawHeaders[at + 1]}\r\n`;
  }
  if (rewrite.upgrade) head += 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
  else {
    const framing = bodyFraming(req);
    if (framing === 'chunked') head += 'Transfer-Encoding: chunked\r\n';
    else if (framing !== 'none') head += `Content-Length: ${framing}\r\n`;
  }
  const port = portOf(host).slice(1) || (rewrite.scheme === 'https' ? '443' : '80');
  return `${head}X-Forwarded-Host: ${host}\r\nX-Forwarded-Proto: ${rewrite.scheme}\r\nX-Forwarded-For: ${clientAddress(req)}\r\nX-Forwarded-Port: ${port}\r\n\r\n`;
}

function clientAddress(req: IncomingMessage): string {
  const address = req.socket.remoteAddress ?? 'unknown';
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}
