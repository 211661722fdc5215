import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { EndScan, findHello, StartScan } from '#adapters/sandboxes/shell/output-scan.ts';

const mark = '0123456789abcdef0123456789abcdef';

/** Bytes that look much like a mark. */
const teasing = fc
  .array(
    fc.oneof(
      fc.constantFrom(mark, `${mark} `, `${mark} 12`, `${mark} 1234\n`, mark.slice(0, 9), ' ', '0', '\n'),
      fc.string({ maxLength: 5 }),
    ),
    { maxLength: 12 },
  )
  .map((parts) => Buffer.from(parts.join('')))
  .filter((bytes) => !/[0-9a-f]{32} \d{1,3}\n/.test(bytes.toString('latin1')));

/** Cuts bytes at any places. */
function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...at].map((from, index) => bytes.subarray(from, at[index] ?? bytes.length));
}

describe('the end of output', () => {
  test('is found behind any output, in any pieces, and nothing of the output is lost or held back', () => {
    const cuts = fc.array(fc.nat(), { maxLength: 8 });
    fc.assert(
      fc.property(
        teasing,
        fc.integer({ min: 0, max: 255 }),
        fc.uint8Array(),
        cuts,
        (output, code, noise, at) => {
          const scan = new EndScan(mark);
          const heard: Buffer[] = [];
          let ended: number | undefined;
          for (const piece of pieces(Buffer.concat([output, Buffer.from(`${mark} ${code}\n`), noise]), at)) {
            const passed = scan.take(piece);
            heard.push(...passed.output);
            ended = passed.code;
            if (ended !== undefined) break;
          }
          expect(ended).toBe(code);
          expect(Buffer.concat(heard).toString('hex')).toBe(output.toString('hex'));
        },
      ),
      { numRuns: 500 },
    );
  });

  test('that does not come holds back 36 bytes at most', () => {
    fc.assert(
      fc.property(teasing, fc.array(fc.nat(), { maxLength: 8 }), (output, at) => {
        const scan = new EndScan(mark);
        const heard = pieces(output, at).flatMap((piece) => scan.take(piece).output);
        expect(scan.rest().length).toBeLessThanOrEqual(36);
        expect(Buffer.concat([...heard, scan.rest()]).toString('hex')).toBe(output.toString('hex'));
      }),
    );
  });
});

describe('the first line', () => {
  test('tells the process id, and what comes behind it', () => {
    expect(findHello(Buffer.from(`${mark} 41\nmore`), mark)).toEqual({ pid: 41, rest: Buffer.from('more') });
    expect(findHello(Buffer.from(`${mark} 41\r\n`), mark)).toEqual({ pid: 41, rest: Buffer.alloc(0) });
  });

  test('is waited for', () => {
    expect(findHello(Buffer.from(`${mark} 4`), mark)).toBeUndefined();
    expect(findHello(Buffer.alloc(0), mark)).toBeUndefined();
  });

  test.each(['', ' ', ' 0', ' 1', ' -5', ' 7 8', ' 12345678901', ' 5; rm'])(
    'is refused where the process id is %j',
    (pid) => {
      expect(() => findHello(Buffer.from(`${mark}${pid}\n`), mark)).toThrow('a process id that is none');
    },
  );

  test('is waited for no longer than 64 KiB', () => {
    expect(findHello(Buffer.alloc(65_536), mark)).toBeUndefined();
    expect(() => findHello(Buffer.alloc(65_537), mark)).toThrow('64 KiB have come');
  });
});

describe('the start of a terminal’s output', () => {
  test('is what comes behind the mark, in any pieces', () => {
    const text = Buffer.from(`echo of what was typed ${mark.slice(0, 20)}\r\n${mark}\r\nready`);
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 6 }), (at) => {
        const scan = new StartScan(mark);
        let heard: Buffer | undefined;
        for (const piece of pieces(text, at)) {
          if (heard === undefined) heard = scan.take(piece);
          else heard = Buffer.concat([heard, piece]);
        }
        expect(heard?.toString()).toBe('ready');
      }),
    );
  });

  test('is refused where the mark is not alone on its line', () => {
    expect(() => new StartScan(mark).take(Buffer.from(`${mark}more`))).toThrow('a start that is none');
  });
});
