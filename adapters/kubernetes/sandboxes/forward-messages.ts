/**
 * Messages of `v4.channel.k8s.io` for one forwarded port: a channel byte, then the payload. Channel
 * 0 carries data, channel 1 errors; each begins with the port in two bytes.
 */
export const FORWARD_SUBPROTOCOL = 'v4.channel.k8s.io';

const DATA = 0;
const ERROR = 1;
const PORT_BYTES = 2;

export interface Forwarded {
  readonly channel: 'data' | 'error';
  readonly payload: Buffer;
}

/** Reads the messages of one connection, in their order. */
export class ForwardReader {
  readonly #port: number;
  readonly #heads: [Buffer, Buffer] = [Buffer.alloc(0), Buffer.alloc(0)];

  constructor(port: number) {
    this.#port = port;
  }

  /**
   * The payload of a message; undefined where it is empty.
   * @throws Error for a malformed message
   */
  take(message: Buffer): Forwarded | undefined {
    const [channel] = message;
    if (channel === undefined) return undefined;
    if (channel !== DATA && channel !== ERROR) throw new Error(`a message on channel ${channel}`);
    const head = this.#heads[channel];
    const missing = PORT_BYTES - head.length;
    const payload = message.subarray(1 + missing);
    if (missing > 0) {
      const whole = Buffer.concat([head, message.subarray(1, 1 + missing)]);
      this.#heads[channel] = whole;
      if (whole.length === PORT_BYTES && whole.readUInt16LE() !== this.#port) {
        throw new Error(`port ${whole.readUInt16LE()} instead of ${this.#port}`);
      }
    }
    if (payload.length === 0) return undefined;
    return { channel: channel === DATA ? 'data' : 'error', payload };
  }
}

export function dataMessage(bytes: Uint8Array): Buffer {
  const message = Buffer.allocUnsafe(bytes.length + 1);
  message[0] = DATA;
  message.set(bytes, 1);
  return message;
}
