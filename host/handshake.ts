import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { endWith } from '#proxy/front/raw-answer.ts';
import { isWebSocketKey } from '#proxy/websocket-exchange.ts';
import { PortholeError } from '#core/errors.ts';

/** The arguments of Node's `upgrade` event. */
export interface Handshake {
  readonly socket: Duplex;
  /** Bytes that the client sent after it. */
  readonly head: Buffer;
}

const handshakes = new WeakMap<IncomingMessage, Handshake>();

/** The handshake of a request; undefined for any other request. */
export function handshakeOf(req: IncomingMessage): Handshake | undefined {
  return handshakes.get(req);
}

/**
 * Makes an ordinary request of a handshake: it is routed like any other, and answers other than 101
 * are sent like any other. The connection ends with it, because Node reads no more requests from
 * it.
 */
export function asRequest(req: IncomingMessage, socket: Duplex, head: Buffer): ServerResponse {
  handshakes.set(req, { socket, head });
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  res.assignSocket(socket as Parameters<typeof res.assignSocket>[0]);
  res.once('finish', () => endWith(socket, ''));
  return res;
}

/** @throws PortholeError `invalid_request` if it violates RFC 6455 section 4.2.1 */
export function checkHandshake({ headers }: IncomingMessage): void {
  if (headers['sec-websocket-version'] === '13' && isWebSocketKey(headers['sec-websocket-key'])) return;
  throw new PortholeError(
    'invalid_request',
    'The WebSocket handshake is broken: send Sec-WebSocket-Version: 13, and as Sec-WebSocket-Key 16 bytes in base64.',
  );
}
