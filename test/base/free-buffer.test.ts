import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { expect, test } from '@jest/globals';
import { freeBuffer, freeSentPieces, ownMemory, ownPieces } from '#base/free-buffer.ts';

const piece = (size: number) => Buffer.from(new Uint8Array(size).fill(1).buffer);

test('frees a piece that has its memory to itself, and no other', () => {
  const [alone, shared] = [piece(100), piece(100)];
  const part = shared.subarray(10);
  freeBuffer(alone);
  freeBuffer(part);
  expect([alone.length, shared.length, part.length]).toEqual([0, 100, 90]);
});

test('frees a part of a piece that nothing else refers to', () => {
  const part = piece(100).subarray(10);
  ownMemory(part);
  freeBuffer(part);
  expect(part.length).toBe(0);
});

/** Sends a body as an answer. @returns all that the client gets */
async function answerOf(source: Readable): Promise<string> {
  const server = createServer((_request, response) => {
    response.flushHeaders();
    freeSentPieces(source, response);
    void pipeline(source, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  const answer = await text(client);
  server.close();
  return answer.slice(answer.indexOf('\r\n\r\n') + 4);
}

test('frees pieces once they are sent, and only of a stream that owns them', async () => {
  for (const isOwned of [true, false]) {
    const pieces = [piece(70_000), piece(20)];
    const source = Readable.from(pieces);
    await answerOf(isOwned ? ownPieces(source) : source);
    expect(pieces.map(({ length }) => length)).toEqual(isOwned ? [0, 0] : [70_000, 20]);
  }
});

test('sends pieces that arrive together as one chunk', async () => {
  const source = new Readable({ objectMode: true, read: () => undefined });
  for (const each of [piece(70_000), piece(20), null]) source.push(each);
  const answer = await answerOf(ownPieces(source));
  expect(answer).toBe(`${(70_020).toString(16)}\r\n${'\x01'.repeat(70_020)}\r\n0\r\n\r\n`);
});

test('sends all of a body that is larger than a batch, in order', async () => {
  const pieces = Array.from({ length: 60 }, (_, index) => piece(70_000).fill(71 + (index % 20)));
  const sent = Buffer.concat(pieces).toString();
  const answer = await answerOf(ownPieces(Readable.from(pieces)));
  // Not as texts: a difference would be printed.
  expect(answer.replace(/[\da-f]*\r\n/g, '') === sent).toBe(true);
});
