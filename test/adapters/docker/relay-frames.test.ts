import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { RelayReader, relayFrame } from '#adapters/docker/dial/relay-frames.ts';

describe('what a relay frames', () => {
  test('is its bytes and its end, however it is cut', () => {
    const whole = Buffer.concat([
      relayFrame(3),
      Buffer.from('one'),
      relayFrame(2),
      Buffer.from('22'),
      relayFrame(0),
    ]);
    fc.assert(
      fc.property(fc.array(fc.nat(whole.length), { maxLength: 8 }), (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
        const reader = new RelayReader();
        const read = at.slice(1).flatMap((end, index) => reader.take(whole.subarray(at[index], end)));
        const text = read.map((each) => (each.kind === 'bytes' ? each.bytes.toString() : `(${each.kind})`));
        expect(text.join('')).toBe('one22(end)');
      }),
    );
  });

  test('may be a connection that broke', () => {
    expect(new RelayReader().take(relayFrame(0xffff_ffff))).toEqual([{ kind: 'broken' }]);
  });

  test('is none of more than 64 KiB', () => {
    expect(() => new RelayReader().take(relayFrame(65_537))).toThrow('a frame of 65537 bytes');
  });
});
