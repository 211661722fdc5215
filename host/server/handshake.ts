import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { endWith } from '#proxy/front/raw-answer.ts';
import { isWebSocketKey } from '#proxy/exchange/websocket-exchange.ts';
import { PortholeError } from '#base/errors.ts';

/**
 * Makes an ordinary exchange of a handshake: it is routed like any other, and answers other than
 * 101 are sent like any other. The connection ends with it, because Node reads no more requests
 * from it.
 */
export class HandshakeResponse extends ServerResponse {
  readonly peer: Duplex;
  /** Bytes that the client sent after the handshake. */
  readonly head: Buffer;

  /** Takes the arguments of Node's `upgrade` event. */
  constructor(req: IncomingMessage, peer: Duplex, head: Buffer) {
    super(req);
    this.peer = peer;
    this.head = head;
    this.shouldKeepAlive = false;
    this.assignSocket(peer as Parameters<typeof this.assignSocket>[0]);
    this.once('finish', () => endWith(peer, ''));
  }
}

/** @throws PortholeError `invalid_request` if it violates RFC 6455 section 4.2.1 */
export function checkHandshake({ headers }: IncomingMessage): void {
  if (headers['sec-websocket-version'] === '13' && isWebSocketKey(headers['sec-websocket-key'])) return;
  throw new PortholeError('invalid_request', 'The WebSocket handshake is broken', {
    remedy: 'send Sec-WebSocket-Version: 13, and as Sec-WebSocket-Key 16 bytes in base64.',
  });
}
