/**
 * The messages of `v4.channel.k8s.io` when one port is forwarded: a byte that names the channel,
 * then what belongs to it. Channel 0 carries the connection, channel 1 what went wrong; each begins
 * with the port, in two bytes.
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
   * What a message carries; undefined where that is nothing.
   * @throws Error for what no API server sends
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
