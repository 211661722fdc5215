import { randomBytes } from 'node:crypto';

export const OPCODES = { text: 0x1, binary: 0x2, close: 0x8, pong: 0xa } as const;

/** One whole message of a client, masked as RFC 6455 section 5.3 asks of clients. */
export function writeFrame(kind: keyof typeof OPCODES, data: Uint8Array): Buffer {
  const { length } = data;
  const size = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const frame = Buffer.allocUnsafe(2 + size + 4 + length);
  frame[0] = 0x80 | OPCODES[kind];
  frame[1] = 0x80 | (size === 0 ? length : size === 2 ? 126 : 127);
  if (size === 2) frame.writeUInt16BE(length, 2);
  else if (size === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  const mask = randomBytes(4);
  const at = 2 + size;
  frame.set(mask, at);
  for (let index = 0; index < length; index += 1) {
    frame[at + 4 + index] = (data[index] as number) ^ (mask[index & 3] as number);
  }
  return frame;
}
