import type { OutgoingMessage } from 'node:http';
import type { Readable } from 'node:stream';

const sole = new WeakSet<Buffer>();

/** Declares that nothing else refers to the memory of a piece, which is longer than the piece. */
export function ownMemory(piece: Buffer): void {
  sole.add(piece);
}

/**
 * Frees the memory of a piece of a body that nothing refers to any more. As garbage, every 64 MiB
 * of them (12 MiB in a guest) make V8 mark its whole heap, which takes longer than the transfer. A
 * piece that shares its memory is left alone.
 */
export function freeBuffer(piece: Buffer): void {
  const { buffer } = piece;
  const isSole = piece.byteLength === buffer.byteLength || sole.has(piece);
  if (isSole && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

const owners = new WeakSet<Readable>();

/** Declares that no other code keeps the pieces of the stream: they are freed once sent. */
export function ownPieces(stream: Readable): Readable {
  owners.add(stream);
  return stream;
}

/**
 * Bytes of a body that are sent in one call, as one chunk. Each call wakes the receiver, and the
 * end of each chunk splits what it reads.
 */
const BATCH = 1 << 20;

/**
 * Call before `source` is piped into `sink`. Sends what arrives in one turn of the event loop at
 * once. Does nothing unless `source` owns its pieces.
 */
export function freeSentPieces(source: Readable, sink: OutgoingMessage): void {
  if (!owners.has(source)) return;
  const write = sink.write.bind(sink) as (piece: Buffer, sent: () => void) => boolean;
  let isCorked = false;
  let isFull = false;
  const flush = () => {
    if (!isCorked) return;
    isCorked = false;
    // Without it, each part of the chunk is a system call.
    const { socket } = sink;
    socket?.cork();
    sink.uncork();
    socket?.uncork();
  };
  sink.write = (piece: Buffer) => {
    if (!isCorked) {
      isCorked = true;
      sink.cork();
      setImmediate(flush);
    }
    write(piece, () => {
      freeBuffer(piece);
      if (!isFull) return;
      isFull = false;
      sink.emit('drain');
    });
    isFull = sink.writableLength >= BATCH;
    return !isFull;
  };
  // `end` would send the last chunk before the pieces.
  source.once('end', flush);
}
