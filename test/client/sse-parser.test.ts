import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { type ServerSentEvent, SseParser } from '../../client/streams/sse-parser.ts';

const encoder = new TextEncoder();

function parse(text: string): ServerSentEvent[] {
  const parser = new SseParser();
  return [...parser.push(encoder.encode(text)), ...parser.end()];
}

describe('a parser of event streams', () => {
  test.each([
    ['an event', 'event: exit\ndata: {}\n\n', [{ event: 'exit', data: '{}', id: '' }]],
    ['an event without a name', 'data: a\n\n', [{ event: 'message', data: 'a', id: '' }]],
    ['data in several lines', 'data: a\ndata\ndata:b\n\n', [{ event: 'message', data: 'a\n\nb', id: '' }]],
    [
      'lines that end with CR, and with CR LF',
      'data: a\r\rdata: b\r\n\r\n',
      [
        { event: 'message', data: 'a', id: '' },
        { event: 'message', data: 'b', id: '' },
      ],
    ],
    [
      'an id, which later events keep',
      'id: 7\ndata: a\n\ndata: b\n\n',
      [
        { event: 'message', data: 'a', id: '7' },
        { event: 'message', data: 'b', id: '7' },
      ],
    ],
    ['comments, and events without data, as nothing', ':\n\n: heartbeat\n\nevent: exit\n\nretry: 5\n\n', []],
  ])('reads %s', (_, text, events) => {
    expect(parse(text)).toEqual(events);
  });

  test('says how long to wait before coming back', () => {
    const parser = new SseParser();
    parser.push(encoder.encode('retry: 1500\n'));
    expect(parser.retryMs).toBe(1500);
  });

  test.each([
    ['a line of no known field', 'what: is this\n', 'not a line of an event stream: "what: is this"'],
    ['one that ends in the middle of a line', 'data: a', 'the event stream was cut off'],
    ['one that ends in the middle of an event', 'data: a\n', 'the event stream was cut off'],
    [
      'an event without an end',
      `data: ${'a'.repeat(4_194_305)}`,
      'an event is longer than 4194304 characters',
    ],
  ])('refuses %s', (_, text, message) => {
    expect(() => parse(text)).toThrow(message);
  });

  test('refuses what is no UTF-8', () => {
    expect(() => new SseParser().push(new Uint8Array([0x64, 0xff, 0x0a]))).toThrow('not valid');
  });

  test('reads the same however the stream is cut', () => {
    const line = fc.constantFrom(
      'data: ä€😀',
      'data:',
      'event: exit',
      'id: 1',
      ': comment',
      '',
      '',
      'retry: 3',
    );
    const ending = fc.constantFrom('\n', '\r', '\r\n');
    const text = fc
      .array(fc.tuple(line, ending), { maxLength: 20 })
      .map((lines) => lines.map((each) => each.join('')).join('') + '\n\n');
    fc.assert(
      fc.property(text, fc.array(fc.nat(200), { maxLength: 12 }), (whole, cuts) => {
        const bytes = encoder.encode(whole);
        const places = [...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].toSorted(
          (a, b) => a - b,
        );
        const parser = new SseParser();
        const events = places.flatMap((end, index) =>
          parser.push(bytes.subarray(places[index - 1] ?? 0, end)),
        );
        expect([...events, ...parser.end()]).toEqual(parse(whole));
      }),
      { numRuns: 500 },
    );
  });
});
