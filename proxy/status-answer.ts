import type { IncomingMessage, ServerResponse } from 'node:http';
import { reasonPhrase } from './upstream/response-head.ts';
import { type PreviewStatus, type StatusPageContext, statusPage, statusPageBody } from './status-page.ts';

/**
 * Limits in time and bytes for reading and dropping the rest of a request's body, before the
 * connection is closed: twice the largest upload.
 */
const DRAIN_MS = 10_000;
const DRAIN_BYTES = 64 * 1024 * 1024;

/** Answers with one of our own pages. `close`: the connection ends with it. */
export function answerWithPage(
  req: IncomingMessage,
  res: ServerResponse,
  status: PreviewStatus,
  context: StatusPageContext = {},
  close = false,
): void {
  const page = statusPage(status, context);
  const { type, body } = statusPageBody(page, req.headers.accept);
  const headers: Record<string, string | number> = {
    ...page.headers,
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
  };
  if (close) headers['Connection'] = 'close';
  res.writeHead(page.statusCode, headers);
  res.end(req.method === 'HEAD' ? undefined : body);
  dropRest(req);
}

/** The same as Latin-1 bytes, for a connection that Node has handed over. It ends with them. */
export function rawPageAnswer(
  req: IncomingMessage,
  status: PreviewStatus,
  context: StatusPageContext = {},
): { statusCode: number; bytes: string } {
  const page = statusPage(status, context);
  const { type, body } = statusPageBody(page, req.headers.accept);
  const bytes = Buffer.from(body);
  const headers = {
    ...page.headers,
    'Content-Type': type,
    'Content-Length': bytes.length,
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${page.statusCode} ${reasonPhrase(page.statusCode)}\r\n${lines.join('')}\r\n`;
  return { statusCode: page.statusCode, bytes: head + bytes.toString('latin1') };
}

/**
 * Reads and drops the rest of a request that was answered early, so that the client gets the answer
 * and the connection stays in step. A client that does not stop sending loses the connection.
 */
export function dropRest(req: IncomingMessage): void {
  if (req.complete || req.readableEnded) return;
  let dropped = 0;
  const giveUp = (): void => {
    if (!req.complete) req.socket.destroy();
  };
  req.on('data', (chunk: Buffer) => {
    dropped += chunk.length;
    if (dropped > DRAIN_BYTES) giveUp();
  });
  // Node closes the connection after its last answer by `destroySoon`. Bytes that are left unread
  // would reset it then, and the reset drop the answer (RFC 9112 section 9.6).
  const { socket } = req;
  socket.destroySoon = () => void socket.end();
  req.resume();
  const timer = setTimeout(giveUp, DRAIN_MS);
  // Does not keep the process alive: a host that ends has closed the connection already.
  timer.unref();
  const done = (): void => {
    clearTimeout(timer);
    Reflect.deleteProperty(socket, 'destroySoon');
    if (socket.writableEnded) socket.destroySoon();
  };
  req.once('end', done);
  req.once('close', done);
}
