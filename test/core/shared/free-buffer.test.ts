import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expect, test } from '@jest/globals';
import { freeBuffer, freeSentPieces, ownPieces } from '#core/shared/free-buffer.ts';

const piece = (size: number) => Buffer.from(new Uint8Array(size).fill(1).buffer);

test('frees a piece that has its memory to itself, and no other', () => {
  const [alone, shared] = [piece(100), piece(100)];
  const part = shared.subarray(10);
  freeBuffer(alone);
  freeBuffer(part);
  expect([alone.length, shared.length, part.length]).toEqual([0, 100, 90]);
});

test('frees pieces once they are sent, and only of a stream that owns them', async () => {
  for (const isOwned of [true, false]) {
    const pieces = [piece(70_000), piece(20)];
    const source = Readable.from(pieces);
    const sent: number[] = [];
    const sink = new Writable({
      highWaterMark: 1_000_000,
      write: (bytes: Buffer, _encoding, done) => {
        setImmediate(() => {
          sent.push(bytes.length);
          done();
        });
      },
    });
    if (isOwned) ownPieces(source);
    freeSentPieces(source, sink);
    const ends = once(sink, 'close');
    await pipeline(source, sink);
    await ends;
    expect(sent).toEqual([70_000, 20]);
    expect(pieces.map(({ length }) => length)).toEqual(isOwned ? [0, 0] : [70_000, 20]);
  }
});
