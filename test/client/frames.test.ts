import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { FrameReader, type Incoming } from '../../client/node/frame-reader.ts';
import { writeFrame } from '../../client/node/node-socket.ts';

/** A frame in a server's encoding. */
function frame(first: number, data: Uint8Array): Buffer {
  const { length } = data;
  const head = length < 126 ? Buffer.from([first, length]) : Buffer.alloc(length < 65_536 ? 4 : 10);
  if (length >= 126) {
    head[0] = first;
    head[1] = length < 65_536 ? 126 : 127;
    if (length < 65_536) head.writeUInt16BE(length, 2);
    else head.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([head, data]);
}

/** As a string: comparing large buffers is slow. */
function reported(incoming: Incoming): string {
  return incoming.kind === 'close' ? incoming.kind : `${incoming.kind} ${incoming.data.toString('latin1')}`;
}

const FINAL = 0x80;

describe('a reader of WebSocket frames', () => {
  test('reads messages in parts, with control frames between them, however they are cut', () => {
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.constantFrom(125, 126, 65_535, 65_536).map((length) => new Uint8Array(length)),
    );
    const message = fc.tuple(fc.boolean(), fc.array(content, { minLength: 1, maxLength: 3 }), fc.boolean());
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 4 }),
        fc.array(fc.nat(1_000), { maxLength: 8 }),
        (messages, cuts) => {
          const bytes: Buffer[] = [];
          const expected: Incoming[] = [];
          for (const [isText, parts, hasPing] of messages) {
            parts.forEach((part, index) => {
              const opcode = index > 0 ? 0 : isText ? 1 : 2;
              if (hasPing) bytes.push(frame(FINAL | 9, Buffer.from('p')));
              if (hasPing) expected.push({ kind: 'ping', data: Buffer.from('p') });
              bytes.push(frame((index === parts.length - 1 ? FINAL : 0) | opcode, part));
            });
            expected.push({ kind: isText ? 'text' : 'binary', data: Buffer.concat(parts) });
          }
          const whole = Buffer.concat(bytes);
          const places = [...cuts.map((cut) => Math.min(cut, whole.length)), whole.length].toSorted(
            (a, b) => a - b,
          );
          const reader = new FrameReader();
          const read = places.flatMap((end, index) =>
            reader.push(whole.subarray(places[index - 1] ?? 0, end)),
          );
          expect(read.map(reported)).toEqual(expected.map(reported));
        },
      ),
      { numRuns: 200 },
    );
  });

  test('reads why the other side closes', () => {
    const reader = new FrameReader();
    expect(reader.push(frame(FINAL | 8, Buffer.from([0x03, 0xe9, 0x62, 0x79, 0x65])))).toEqual([
      { kind: 'close', code: 1001, reason: 'bye' },
    ]);
    expect(reader.push(frame(FINAL | 8, Buffer.alloc(0)))).toEqual([
      { kind: 'close', code: 1005, reason: '' },
    ]);
  });

  test.each([
    ['a masked frame', Buffer.from([FINAL | 1, 0x81, 0, 0, 0, 0, 0]), 1002],
    ['an extension that was not negotiated', frame(FINAL | 0x40 | 1, Buffer.from('a')), 1002],
    ['a part of no message', frame(FINAL, Buffer.from('a')), 1002],
    [
      'a message within another',
      Buffer.concat([frame(1, Buffer.from('a')), frame(FINAL | 1, Buffer.from('b'))]),
      1002,
    ],
    ['a long control frame', frame(FINAL | 9, Buffer.alloc(126)), 1002],
    ['a ping in parts', frame(9, Buffer.from('a')), 1002],
    ['a close code of one byte', frame(FINAL | 8, Buffer.from('a')), 1002],
    [
      'a message beyond 16 MiB, by its announcement',
      frame(FINAL | 2, Buffer.alloc(16_777_217)).subarray(0, 10),
      1009,
    ],
  ])('refuses %s', (_, bytes, closeCode) => {
    let error: unknown;
    try {
      new FrameReader().push(bytes);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ closeCode });
  });

  test('is sent what is masked', () => {
    const data = Buffer.from('hello');
    const sent = writeFrame('text', data);
    expect([sent[0], sent[1]]).toEqual([0x81, 0x85]);
    const mask = sent.subarray(2, 6);
    expect(
      Buffer.from(sent.subarray(6).map((byte, index) => byte ^ (mask[index % 4] as number))).toString(),
    ).toBe('hello');
    expect(Buffer.from(writeFrame('binary', Buffer.alloc(300))).readUInt16BE(2)).toBe(300);
    expect(Buffer.from(writeFrame('binary', Buffer.alloc(70_000))).readBigUInt64BE(2)).toBe(70_000n);
  });
});
