/** Bytes of a WebSocket server, also such as no server sends. */
import { createHash } from 'node:crypto';

const FINAL = 0x80;
const [TEXT, BINARY, CLOSE] = [1, 2, 8];

/** A whole message (RFC 6455 section 5.2). */
function message(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const size = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const head = Buffer.alloc(2 + size);
  head[0] = FINAL | opcode;
  head[1] = size === 0 ? length : size === 2 ? 126 : 127;
  if (size === 2) head.writeUInt16BE(length, 2);
  else if (size === 8) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

export const text = (payload: string): Buffer => message(TEXT, Buffer.from(payload));

/** A message of an attached command. */
export const binary = (type: number, payload: string | Buffer = ''): Buffer =>
  message(BINARY, Buffer.concat([Buffer.of(type), Buffer.from(payload)]));

export const close = (): Buffer => message(CLOSE, Buffer.alloc(0));

/** The answer to a handshake. @param request its head */
export function switched(request: string): Buffer {
  const key = /^sec-websocket-key: (.*)\r$/im.exec(request)?.[1] ?? '';
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  return Buffer.from(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
}
