import type { Readable, Writable } from 'node:stream';

/**
 * Frees the memory of a piece of a body that nothing refers to any more. As garbage, every 64 MiB
 * of them (12 MiB in a guest) make V8 mark its whole heap, which takes longer than the transfer. A
 * piece that shares its memory is left alone.
 */
export function freeBuffer({ buffer, byteLength }: Buffer): void {
  if (byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

const owners = new WeakSet<Readable>();

/** Declares that nothing keeps the pieces of a stream: they are freed once they are sent. */
export function ownPieces(stream: Readable): Readable {
  owners.add(stream);
  return stream;
}

/** Call before `source` is piped into `sink`. Does nothing unless `source` owns its pieces. */
export function freeSentPieces(source: Readable, sink: Writable): void {
  if (!owners.has(source)) return;
  const write = sink.write.bind(sink) as (piece: Buffer, sent: () => void) => boolean;
  sink.write = (piece: Buffer) => write(piece, () => freeBuffer(piece));
}
