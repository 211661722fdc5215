import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { ResponseHead } from '#proxy/upstream/response-head.ts';
import { type ResponseEvents, ResponseParser } from '#proxy/upstream/response-parser.ts';

/** A parser's output for `parts`, bodies joined. */
function read(
  parts: readonly (string | Buffer)[],
  { method = 'GET', close = false, mayUpgrade = false } = {},
): { events: string[]; body: string; reusable: boolean | undefined } {
  const events: string[] = [];
  const body: Buffer[] = [];
  let reusable: boolean | undefined;
  const seen: ResponseEvents = {
    informational: (head) => void events.push(`informational ${head.status}`),
    head: (head: ResponseHead) => void events.push(`head ${head.status} ${JSON.stringify(head.rawHeaders)}`),
    body: (part) => void body.push(part),
    end: (last, again) => {
      if (last !== undefined) body.push(last);
      reusable = again;
      events.push('end');
    },
    upgraded: (head, rest) => void events.push(`upgraded ${head.status} ${rest.toString('latin1')}`),
    fault: (fault) => void events.push(`fault ${fault}`),
  };
  const parser = new ResponseParser();
  parser.expect(method, seen, mayUpgrade);
  for (const part of parts) parser.push(typeof part === 'string' ? Buffer.from(part, 'latin1') : part);
  if (close) parser.finish();
  return { events, body: Buffer.concat(body).toString('latin1'), reusable };
}

const OK = 'HTTP/1.1 200 OK\r\n';

describe('a well-formed response', () => {
  test.each([
    ['a length', `${OK}Content-Length: 5\r\n\r\nhello`, 'hello', true],
    ['a length of zero', `${OK}Content-Length: 0\r\n\r\n`, '', true],
    ['chunks', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n`, 'hello', true],
    [
      'chunks with extensions',
      `${OK}Transfer-Encoding: Chunked\r\n\r\n5 ;a="b"\r\nhello\r\n0;x\r\n\r\n`,
      'hello',
      true,
    ],
    [
      'chunks with trailers',
      `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n`,
      'hello',
      true,
    ],
    [
      'chunks with leading zeros',
      `${OK}Transfer-Encoding: chunked\r\n\r\n0005\r\nhello\r\n00\r\n\r\n`,
      'hello',
      true,
    ],
    ['a length, closing', `${OK}Connection: close\r\nContent-Length: 5\r\n\r\nhello`, 'hello', false],
    ['a length from HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello', 'hello', false],
    [
      'HTTP/1.0 that keeps alive',
      'HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx',
      'x',
      true,
    ],
    ['bytes behind the body', `${OK}Content-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n`, 'hello', false],
    ['a 204', 'HTTP/1.1 204 No Content\r\n\r\n', '', true],
    ['a 204 that claims a body', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n', '', false],
    [
      'a 304 with the length of the stored response',
      'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n',
      '',
      true,
    ],
    ['no reason', 'HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n', '', true],
  ])('is read with %s', (_, text, body, reusable) => {
    const seen = read([text]);
    expect(seen.events.at(-1)).toBe('end');
    expect(seen.body).toBe(body);
    expect(seen.reusable).toBe(reusable);
  });

  test('lasts until the close when it has no length', () => {
    expect(read([`${OK}\r\nhel`, 'lo'], { close: true })).toMatchObject({ body: 'hello', reusable: false });
  });

  test('has no body when it answers a HEAD', () => {
    expect(read([`${OK}Content-Length: 5\r\n\r\n`], { method: 'HEAD' })).toMatchObject({
      body: '',
      reusable: true,
    });
  });

  test('may be announced by informational ones', () => {
    const text = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${OK}Content-Length: 0\r\n\r\n`;
    expect(read([text]).events).toEqual([
      'informational 100',
      'informational 103',
      'head 200 ["Content-Length","0"]',
      'end',
    ]);
  });

  test('keeps header bytes above 0x7f, and trims spaces and tabs alone', () => {
    expect(read([`${OK}X: \t \xa0caf\xe9\xa0 \t\r\nContent-Length: 0\r\n\r\n`]).events[0]).toBe(
      'head 200 ["X","\xa0café\xa0","Content-Length","0"]',
    );
  });

  test('hands over what follows the head when it answers an upgrade', () => {
    expect(
      read(['HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\nabc'], { mayUpgrade: true }).events,
    ).toEqual(['upgraded 101 abc']);
  });
});

describe('a malformed response', () => {
  const chunked = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
  test.each([
    ['no HTTP at all', 'SSH-2.0-OpenSSH_9.2\r\n', 'not_http'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n', 'not_http'],
    ['version 1.2', 'HTTP/1.2 200 OK\r\n\r\n', 'not_http'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n', 'not_http'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n', 'not_http'],
    ['a status past 599', 'HTTP/1.1 600 Odd\r\n\r\n', 'not_http'],
    ['two spaces before the status', 'HTTP/1.1  200 OK\r\n\r\n', 'not_http'],
    ['an empty line in front', '\r\nHTTP/1.1 200 OK\r\n\r\n', 'not_http'],
    ['a control character in the reason', 'HTTP/1.1 200 O\x01K\r\n\r\n', 'not_http'],
    ['bare line feeds', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n', 'bare_line_feed'],
    ['one bare line feed', `${OK}A: b\nContent-Length: 0\r\n\r\n`, 'bare_line_feed'],
    ['a bare carriage return', `${OK}A: b\rC: d\r\n\r\n`, 'bad_header'],
    ['a folded header', `${OK}A: b\r\n c\r\n\r\n`, 'folded_header'],
    ['a folded first header', `${OK}\tA: b\r\n\r\n`, 'folded_header'],
    ['a space before the colon', `${OK}Content-Length : 0\r\n\r\n`, 'bad_header'],
    ['a header without a colon', `${OK}Content-Length\r\n\r\n`, 'bad_header'],
    ['a header without a name', `${OK}: x\r\n\r\n`, 'bad_header'],
    ['NUL in a header', `${OK}A: b\0c\r\n\r\n`, 'bad_header'],
    ['two lengths', `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`, 'ambiguous_length'],
    ['the same length twice', `${OK}Content-Length: 1\r\ncontent-length: 1\r\n\r\na`, 'ambiguous_length'],
    ['length and chunks', `${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`, 'ambiguous_length'],
    ['chunks and length', `${OK}Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n`, 'ambiguous_length'],
    ['a list of lengths', `${OK}Content-Length: 1, 1\r\n\r\na`, 'bad_length'],
    ['a signed length', `${OK}Content-Length: +1\r\n\r\na`, 'bad_length'],
    ['a negative length', `${OK}Content-Length: -1\r\n\r\na`, 'bad_length'],
    ['a hexadecimal length', `${OK}Content-Length: 0x1\r\n\r\na`, 'bad_length'],
    ['an empty length', `${OK}Content-Length:\r\n\r\na`, 'bad_length'],
    ['a length past any number', `${OK}Content-Length: 99999999999999999999\r\n\r\na`, 'bad_length'],
    ['another encoding', `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n`, 'bad_transfer_encoding'],
    [
      'chunked twice',
      `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`,
      'ambiguous_length',
    ],
    ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', 'bad_transfer_encoding'],
    ['a chunk size that is none', `${chunked}x\r\n`, 'bad_chunk'],
    ['an empty chunk size', `${chunked}\r\n`, 'bad_chunk'],
    ['a signed chunk size', `${chunked}-1\r\n`, 'bad_chunk'],
    ['a chunk size with 0x', `${chunked}0x5\r\nhello\r\n`, 'bad_chunk'],
    ['a chunk size past 2^48', `${chunked}1000000000000a\r\n`, 'bad_chunk'],
    ['a space and nothing after a chunk size', `${chunked}5 \r\nhello\r\n`, 'bad_chunk'],
    ['a chunk size ended by a line feed', `${chunked}5\nhello\r\n`, 'bad_chunk'],
    ['a chunk longer than it said', `${chunked}2\r\nhello\r\n`, 'bad_chunk'],
    ['an extension of 300 bytes', `${chunked}5;${'a'.repeat(300)}\r\nhello\r\n`, 'bad_chunk'],
    ['extensions without end', chunked + `1;${'a'.repeat(200)}\r\nb\r\n`.repeat(100), 'bad_chunk'],
    ['a line feed in an extension', `${chunked}5;a\nb\r\nhello\r\n`, 'bad_chunk'],
    ['trailers of 17 KiB', `${chunked}0\r\n${`A: ${'b'.repeat(1_000)}\r\n`.repeat(17)}\r\n`, 'bad_chunk'],
    ['a folded trailer', `${chunked}0\r\nA: b\r\n c\r\n\r\n`, 'bad_chunk'],
    ['a head of 64 KiB', `${OK}A: ${'b'.repeat(65_536)}\r\n\r\n`, 'head_too_large'],
    ['a head without an end', `${OK}${'A: b\r\n'.repeat(12_000)}`, 'head_too_large'],
    ['17 informational responses', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(17), 'too_many_informational'],
    [
      'an upgrade without a request for it',
      'HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n',
      'unasked_upgrade',
    ],
  ])('is refused with %s', (_, text, fault) => {
    expect(read([text]).events.at(-1)).toBe(`fault ${fault}`);
  });

  test.each([
    ['before its head', 'HTTP/1.1 200 O', 'closed_early'],
    ['before anything', '', 'closed_early'],
    ['within its length', `${OK}Content-Length: 5\r\n\r\nhell`, 'truncated'],
    ['within a chunk', `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhel`, 'truncated'],
    ['before the last chunk', `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`, 'truncated'],
  ])('cut %s is no clean end', (_, text, fault) => {
    expect(read([text], { close: true }).events.at(-1)).toBe(`fault ${fault}`);
  });

  test('is rejected before its end when it can no longer become a response', () => {
    expect(read(['HTTP/1.1 200 OK\nX: y']).events).toEqual(['fault bare_line_feed']);
    expect(read(['220 mail']).events).toEqual(['fault not_http']);
  });

  test('is refused in linear time when it has only spaces', () => {
    const start = performance.now();
    expect(read([`${OK}A:${' '.repeat(65_000)}\x01\r\n\r\n`]).events).toEqual(['fault bad_header']);
    expect(performance.now() - start).toBeLessThan(50);
  });
});

/** Responses of every framing, well-formed or not. */
const responses = fc.oneof(
  fc
    .record({ body: fc.string({ unit: 'binary-ascii' }) })
    .map(({ body }) => `${OK}Content-Length: ${body.length}\r\n\r\n${body}`),
  fc
    .array(fc.string({ unit: 'binary-ascii', minLength: 1 }))
    .map((chunks) => chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join(''))
    .map(
      (chunks) =>
        `HTTP/1.1 103 Early\r\n\r\n${OK}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\nT: x\r\n\r\n`,
    ),
  fc.string({ unit: 'binary-ascii' }).map((body) => `HTTP/1.0 200 OK\r\nA: b\r\n\r\n${body}`),
  fc.string({ unit: 'binary-ascii' }).map((rest) => `${OK}Transfer-Encoding: chunked\r\n\r\n${rest}`),
  fc.string({ unit: 'binary-ascii' }).map((rest) => `${OK}${rest}\r\n\r\n`),
);

describe('the parser', () => {
  test('reports the same whatever portions the bytes arrive in', () => {
    fc.assert(
      fc.property(responses, fc.array(fc.nat({ max: 400 })), fc.boolean(), (text, cuts, close) => {
        const at = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
        const parts = [...at, text.length].map((end, index) => text.slice(at[index - 1] ?? 0, end));
        const [whole, split, single] = [[text], parts, text.split('')].map((pieces) =>
          read(pieces, { close }),
        );
        expect({ ...split, reusable: 0 }).toEqual({ ...whole, reusable: 0 });
        expect({ ...single, reusable: 0 }).toEqual({ ...whole, reusable: 0 });
      }),
      { numRuns: 2_000 },
    );
  });

  test('takes any bytes without throwing, and says at most one last thing', () => {
    const prefix = fc.constantFrom(
      '',
      'HTTP/1.1 ',
      OK,
      `${OK}Content-Length: 3\r\n\r\n`,
      `${OK}Transfer-Encoding: chunked\r\n\r\n`,
    );
    fc.assert(
      fc.property(prefix, fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 8 }), (start, parts) => {
        const { events } = read([start, ...parts.map((part) => Buffer.from(part))], { close: true });
        const last = events.filter((event) => event === 'end' || event.startsWith('fault'));
        expect(last).toHaveLength(1);
        expect(events.at(-1)).toBe(last[0]);
      }),
      { numRuns: 5_000 },
    );
  });
});

test('passes on many small chunks of one portion together', () => {
  const parts: string[] = [];
  const parser = new ResponseParser();
  const unseen = () => undefined;
  const body = (part: Buffer) => void parts.push(part.toString('latin1'));
  parser.expect('GET', {
    informational: unseen,
    head: unseen,
    body,
    end: unseen,
    upgraded: unseen,
    fault: unseen,
  });
  parser.push(Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'));
  parser.push(Buffer.from('1\r\na\r\n'.repeat(10_000)));
  expect(parts).toEqual(['a'.repeat(10_000)]);
  const large = 'b'.repeat(2_000);
  parser.push(Buffer.from(`1\r\na\r\n7d0\r\n${large}\r\n1\r\nc\r\n`));
  expect(parts.slice(1)).toEqual(['a', large, 'c']);
});
