/**
 * The messages of `v5.channel.k8s.io`, the API server's exec over a WebSocket: one byte that names the channel, then what belongs to it.
 */
export const EXEC_SUBPROTOCOL = 'v5.channel.k8s.io';

export const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const;

export type ServerMessage =
  | { readonly channel: 'stdout' | 'stderr' | 'status'; readonly payload: Buffer }
  /** The other end will say no more on a channel. */
  | { readonly channel: 'close'; readonly closed: number };

/**
 * What a message from the API server says; undefined for an empty one, with which it begins.
 * @throws Error for what no API server sends
 */
export function readMessage(message: Buffer): ServerMessage | undefined {
  const [channel] = message;
  if (channel === undefined) return undefined;
  const payload = message.subarray(1);
  switch (channel) {
    case CHANNEL.stdout:
      return { channel: 'stdout', payload };
    case CHANNEL.stderr:
      return { channel: 'stderr', payload };
    case CHANNEL.status:
      return { channel: 'status', payload };
    case CHANNEL.close:
      if (payload.length === 1) return { channel: 'close', closed: payload[0] ?? 0 };
      throw new Error(`a close message of ${message.length} bytes`);
    default:
      throw new Error(`a message on channel ${channel}`);
  }
}

export function stdinMessage(bytes: Uint8Array): Buffer {
  const message = Buffer.allocUnsafe(bytes.length + 1);
  message[0] = CHANNEL.stdin;
  message.set(bytes, 1);
  return message;
}

export function stdinEnd(): Buffer {
  return Buffer.from([CHANNEL.close, CHANNEL.stdin]);
}

/** Sizes are held to what a terminal can have. */
export function resizeMessage(cols: number, rows: number): Buffer {
  const size = { Width: held(cols), Height: held(rows) };
  return Buffer.concat([Buffer.from([CHANNEL.resize]), Buffer.from(JSON.stringify(size))]);
}

function held(size: number): number {
  return Math.min(Math.max(Math.trunc(size) || 1, 1), 0xffff);
}
