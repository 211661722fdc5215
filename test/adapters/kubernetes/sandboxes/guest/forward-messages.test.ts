import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { dataMessage, ForwardReader } from '#adapters/kubernetes/sandboxes/port-stream.ts';

const PORT = Buffer.from([0xa0, 0x0f]);
const on = (channel: number, payload: Uint8Array): Buffer => Buffer.concat([Buffer.from([channel]), payload]);

describe('messages of a forwarded port', () => {
  test('carry every byte behind the port, however they are cut', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.array(fc.nat(70), { maxLength: 5 }), (bytes, cuts) => {
        const all = Buffer.concat([PORT, bytes]);
        const at = cuts.map((cut) => Math.min(cut, all.length)).toSorted((a, b) => a - b);
        const reader = new ForwardReader(4000);
        const heard = [0, ...at].map((from, index) =>
          reader.take(on(0, all.subarray(from, at[index] ?? all.length))),
        );
        expect(Buffer.concat(heard.map((each) => each?.payload ?? Buffer.alloc(0)))).toEqual(
          Buffer.from(bytes),
        );
      }),
    );
  });

  test('tell what went wrong on channel 1', () => {
    const reader = new ForwardReader(4000);
    expect(reader.take(on(1, PORT))).toBeUndefined();
    expect(reader.take(on(1, Buffer.from('refused')))).toEqual({
      channel: 'error',
      payload: Buffer.from('refused'),
    });
  });

  test('are refused for another port', () => {
    expect(() => new ForwardReader(4001).take(on(0, PORT))).toThrow('port 4000 instead of 4001');
  });

  test('are refused on any other channel', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 255 }), fc.uint8Array(), (channel, bytes) => {
        expect(() => new ForwardReader(1).take(on(channel, bytes))).toThrow(
          `a message on channel ${channel}`,
        );
      }),
    );
  });

  test('begin with channel 0 when they go to the pod', () => {
    expect(dataMessage(Buffer.from('hi'))).toEqual(Buffer.from([0, 104, 105]));
  });
});
