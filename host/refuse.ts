import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ERROR_CATALOGUE, type ErrorCode } from '#core/errors.ts';

function errorText(code: ErrorCode, message: string): string {
  return JSON.stringify({ error: message, code, retryable: ERROR_CATALOGUE[code].retryable });
}

/** Answers a request that reaches no function, and ends its connection. */
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

/** The same for an upgrade, on the raw socket. */
export function refuseUpgrade(socket: Duplex, code: ErrorCode, message: string): void {
  const { status } = ERROR_CATALOGUE[code];
  const body = errorText(code, message);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
