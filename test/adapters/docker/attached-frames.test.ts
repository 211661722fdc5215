import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { AttachedReader } from '#adapters/docker/attached-exec.ts';

const frame = (kind: number, payload: string): Buffer => {
  const head = Buffer.alloc(8);
  head[0] = kind;
  head.writeUInt32BE(Buffer.byteLength(payload), 4);
  return Buffer.concat([head, Buffer.from(payload)]);
};

/** Joins both streams. */
function read(pieces: readonly Buffer[]): { stdout: string; stderr: string } {
  const reader = new AttachedReader();
  const said = { stdout: '', stderr: '' };
  for (const piece of pieces)
    for (const { stream, bytes } of reader.take(piece)) said[stream] += bytes.toString();
  return said;
}

describe('the stream of an exec', () => {
  test('is divided into stdout and stderr, however it is cut', () => {
    const whole = Buffer.concat([frame(1, 'out'), frame(2, 'err'), frame(1, ''), frame(1, 'put')]);
    fc.assert(
      fc.property(fc.array(fc.nat(whole.length), { maxLength: 8 }), (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
        const pieces = at.slice(1).map((end, index) => whole.subarray(at[index], end));
        expect(read(pieces)).toEqual({ stdout: 'output', stderr: 'err' });
      }),
    );
  });

  test('passes on a frame of 4 GiB as it comes', () => {
    const reader = new AttachedReader();
    reader.take(Buffer.from([1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]));
    expect(reader.take(Buffer.from('begun'))).toEqual([{ stream: 'stdout', bytes: Buffer.from('begun') }]);
  });

  test.each([0, 3, 255])('rejects a frame of kind %d', (kind) => {
    expect(() => new AttachedReader().take(frame(kind, 'x'))).toThrow('a frame that begins with');
  });
});
