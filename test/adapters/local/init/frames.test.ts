import { describe, expect, test } from '@jest/globals';
import { array, assert, constantFrom, nat, property, record, uint8Array } from 'fast-check';
import { FRAME, FrameReader, frame, MAX_REQUEST } from '#adapters/local/init/frames.ts';

/** Reads whole frames, with the pieces of data joined, as if cut into chunks at `cuts`. */
function readAll(bytes: Buffer, cuts: readonly number[]): { type: number; payload: string }[] {
  const reader = new FrameReader();
  const read: { type: number; payload: string }[] = [];
  const edges = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
  for (let at = 1; at < edges.length; at++) {
    for (const { type, payload } of reader.read(bytes.subarray(edges[at - 1], edges[at]))) {
      read.push({ type, payload: payload.toString('latin1') });
    }
  }
  return read;
}

describe('frames', () => {
  test('come out as they went in, wherever the stream is cut', () => {
    const one = record({
      type: constantFrom(FRAME.signal, FRAME.exit, FRAME.resize, FRAME.request),
      payload: uint8Array({ maxLength: 300 }),
    });
    assert(
      property(array(one, { maxLength: 20 }), array(nat()), (frames, cuts) => {
        const bytes = Buffer.concat(frames.map(({ type, payload }) => frame(type, Buffer.from(payload))));
        const places = cuts.map((cut) => cut % (bytes.length + 1));
        expect(readAll(bytes, places)).toEqual(
          frames.map(({ type, payload }) => ({ type, payload: Buffer.from(payload).toString('latin1') })),
        );
      }),
      { numRuns: 1000 },
    );
  });

  test('of data come in pieces, and lose and reorder no byte', () => {
    assert(
      property(array(uint8Array({ maxLength: 500 }), { maxLength: 10 }), array(nat()), (parts, cuts) => {
        const bytes = Buffer.concat(parts.map((part) => frame(FRAME.stdout, Buffer.from(part))));
        const places = cuts.map((cut) => cut % (bytes.length + 1));
        const joined = readAll(bytes, places).map(({ payload }) => payload);
        expect(joined.join('')).toBe(Buffer.concat(parts).toString('latin1'));
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    ['of type 0', Buffer.from([0, 0, 0, 0, 0])],
    ['of type 12', Buffer.from([12, 0, 0, 0, 0])],
    ['of an exit over 4 KiB', Buffer.from([FRAME.exit, 0, 0, 0x10, 0x01])],
    ['of output over 1 MiB', Buffer.from([FRAME.stdout, 0, 0x10, 0, 0x01])],
    ['of 4 GiB', Buffer.from([FRAME.stdout, 0xff, 0xff, 0xff, 0xff])],
    ['of a request over its limit', Buffer.from([FRAME.request, 0, 0x40, 0, 0x01])],
  ])('refuses a head %s before any of its payload comes', (_title, head) => {
    expect(() => [...new FrameReader().read(head)]).toThrow(/^frame of type/);
  });

  test('takes a request of its limit', () => {
    const request = frame(FRAME.request, Buffer.alloc(MAX_REQUEST));
    expect([...new FrameReader().read(request)].map(({ payload }) => payload.length)).toEqual([4_194_304]);
  });

  test('says where it stopped, so that what follows can be taken as it is', () => {
    const reader = new FrameReader();
    const chunk = Buffer.concat([frame(FRAME.ok), Buffer.from('raw bytes')]);
    expect(reader.read(chunk).next().value).toMatchObject({ type: FRAME.ok });
    expect(chunk.subarray(reader.consumed).toString()).toBe('raw bytes');
  });
});
