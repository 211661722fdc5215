import { connect, type Socket, type TcpNetConnectOpts, type IpcNetConnectOpts } from 'node:net';
import type { Duplex } from 'node:stream';

/** Sizes of a connection's buffer, in bytes: it grows with reads that fill it. */
const SMALLEST = 16 * 1024;
const ORDINARY = 64 * 1024;
const MAX_BUFFER_BYTES = 256 * 1024;

/** Connections of this process that may have a buffer above `ORDINARY`. */
const MAX_LARGE = 64;

/**
 * Takes the bytes before it returns, or returns false: then they are its own until it resumes the
 * socket.
 */
export type DirectSink = (bytes: Buffer) => boolean;

const sinks = new WeakMap<Duplex, (sink: DirectSink) => void>();
let large = 0;

/**
 * Like `net.connect`, for a connection that `splice` reads. All reads go to one buffer: a new one
 * for each read makes V8 collect the whole heap after every few megabytes.
 */
export function connectDirect(
  options: (TcpNetConnectOpts | IpcNetConnectOpts) & { readonly allowHalfOpen: true },
): Socket {
  let buffer = Buffer.allocUnsafeSlow(SMALLEST);
  let sink: DirectSink | undefined;
  const grow = (): void => {
    if (buffer.length === MAX_BUFFER_BYTES || (buffer.length === ORDINARY && large === MAX_LARGE)) return;
    if (buffer.length === ORDINARY) large += 1;
    buffer = Buffer.allocUnsafeSlow(buffer.length * 4);
  };
  const socket: Socket = connect({
    ...options,
    onread: {
      buffer: () => buffer,
      callback(count): boolean {
        const bytes = buffer.subarray(0, count);
        const takesMore = sink === undefined ? socket.push(Buffer.from(bytes)) : sink(bytes);
        if (count === buffer.length) grow();
        return takesMore;
      },
    },
  });
  socket.once('close', () => {
    if (buffer.length === MAX_BUFFER_BYTES) large -= 1;
  });
  sinks.set(socket, (to) => {
    sink = to;
  });
  return socket;
}

/**
 * Passes what the socket receives from now on to `sink`, instead of to the stream. Returns false
 * for a socket of another origin.
 */
export function readDirectly(socket: Duplex, sink: DirectSink): boolean {
  const pass = sinks.get(socket);
  pass?.(sink);
  return pass !== undefined;
}
