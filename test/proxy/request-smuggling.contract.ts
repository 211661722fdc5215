import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type GatewayFixture,
  type Listener,
  sendRaw,
  startApp,
  statusesOf,
  type StartGateway,
} from './gateway-fixture.ts';

/**
 * A client's bytes, with HOST in place of the host; the received statuses until the connection
 * closes; and the requests read completely behind the front, as `METHOD /path bytes`.
 */
type Row = readonly [name: string, sent: string, statuses: readonly number[], arrived: readonly string[]];

const lines = (...all: string[]): string => all.join('\r\n');
const get = (...headers: string[]): string => lines('GET / HTTP/1.1', 'Host: HOST', ...headers, '', '');
const post = (headers: string[], body: string): string =>
  lines('POST /a HTTP/1.1', 'Host: HOST', ...headers, '', body);
const chunked = (body: string, method = 'POST'): string =>
  lines(`${method} /a HTTP/1.1`, 'Host: HOST', 'Transfer-Encoding: chunked', '', body);
/** A request that an attacker wants the other side to process separately. */
const HIDDEN = lines('GET /hidden HTTP/1.1', 'Host: HOST', '', '');
/** A harmless last request, so that a synchronized connection closes by itself. */
const LAST = lines('GET /last HTTP/1.1', 'Host: HOST', 'Connection: close', '', '');
const WEBSOCKET = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';

const refusedHeads: readonly Row[] = [
  ['CL.TE', post(['Content-Length: 6', 'Transfer-Encoding: chunked'], `0\r\n\r\n${HIDDEN}`), [400], []],
  [
    'TE.CL',
    post(['Transfer-Encoding: chunked', 'Content-Length: 4'], `5c\r\n${HIDDEN}\r\n0\r\n\r\n`),
    [400],
    [],
  ],
  [
    'TE.TE, the second obfuscated',
    post(['Transfer-Encoding: chunked', 'Transfer-Encoding: x'], `0\r\n\r\n${HIDDEN}`),
    [400],
    [],
  ],
  [
    'TE.TE, the first obfuscated',
    post(['Transfer-Encoding: x', 'Transfer-Encoding: chunked'], `0\r\n\r\n${HIDDEN}`),
    [400],
    [],
  ],
  [
    'chunked twice in two lines',
    post(['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], `0\r\n\r\n${HIDDEN}`),
    [400],
    [],
  ],
  [
    'chunked twice in one line',
    post(['Transfer-Encoding: chunked, chunked'], `0\r\n\r\n${HIDDEN}`),
    [400],
    [],
  ],
  ['gzip and chunked', post(['Transfer-Encoding: gzip, chunked'], `0\r\n\r\n${HIDDEN}`), [400], []],
  ['identity', post(['Transfer-Encoding: identity', 'Content-Length: 3'], `abc${HIDDEN}`), [400], []],
  ['identity alone', post(['Transfer-Encoding: identity'], HIDDEN), [400], []],
  ['xchunked', post(['Transfer-Encoding: xchunked'], `0\r\n\r\n${HIDDEN}`), [400], []],
  ['chunked in quotes', post(['Transfer-Encoding: "chunked"'], `0\r\n\r\n${HIDDEN}`), [400], []],
  [
    'chunked behind a vertical tab',
    post(['Transfer-Encoding: \x0bchunked'], `0\r\n\r\n${HIDDEN}`),
    [400],
    [],
  ],
  ['chunked with a parameter', post(['Transfer-Encoding: chunked;q=1'], `0\r\n\r\n${HIDDEN}`), [400], []],
  ['an empty Transfer-Encoding', post(['Transfer-Encoding:'], HIDDEN), [400], []],
  [
    'a space before the colon of Transfer-Encoding',
    post(['Transfer-Encoding : chunked'], `0\r\n\r\n${HIDDEN}`),
    [400],
    [],
  ],
  ['a tab before the colon of Content-Length', post(['Content-Length\t: 3'], `abc${HIDDEN}`), [400], []],
  [
    'Transfer-Encoding on a folded line',
    post(['X: y', ' Transfer-Encoding: chunked'], `0\r\n\r\n${HIDDEN}`),
    [400],
    [],
  ],
  [
    'the value of Transfer-Encoding on a folded line',
    post(['Transfer-Encoding:', ' chunked'], `0\r\n\r\n${HIDDEN}`),
    [400],
    [],
  ],
  [
    'Transfer-Encoding behind a bare line feed',
    post(['X: y\nTransfer-Encoding: chunked'], `0\r\n\r\n${HIDDEN}`),
    [400],
    [],
  ],
  [
    'Transfer-Encoding behind a bare carriage return',
    post(['X: y\rTransfer-Encoding: chunked'], `0\r\n\r\n${HIDDEN}`),
    [400],
    [],
  ],
  [
    'Transfer-Encoding in HTTP/1.0',
    lines('POST /a HTTP/1.0', 'Host: HOST', 'Transfer-Encoding: chunked', '', `0\r\n\r\n${HIDDEN}`),
    [400],
    [],
  ],
  ['two different lengths', post(['Content-Length: 3', 'Content-Length: 0'], `abc${HIDDEN}`), [400], []],
  ['the same length twice', post(['Content-Length: 3', 'Content-Length: 3'], `abc${HIDDEN}`), [400], []],
  ['a list of lengths', post(['Content-Length: 3, 3'], `abc${HIDDEN}`), [400], []],
  ['a length with a plus', post(['Content-Length: +3'], `abc${HIDDEN}`), [400], []],
  ['a negative length', post(['Content-Length: -3'], `abc${HIDDEN}`), [400], []],
  ['a hexadecimal length', post(['Content-Length: 0x3'], `abc${HIDDEN}`), [400], []],
  ['a length with an underscore', post(['Content-Length: 1_0'], `abc${HIDDEN}`), [400], []],
  ['a length with a fraction', post(['Content-Length: 3.0'], `abc${HIDDEN}`), [400], []],
  ['a length with a space inside', post(['Content-Length: 3 0'], `abc${HIDDEN}`), [400], []],
  ['a length past any number', post(['Content-Length: 18446744073709551619'], `abc${HIDDEN}`), [400], []],
  ['an empty length', post(['Content-Length:'], `abc${HIDDEN}`), [400], []],
  ['a line without a colon', get('Content-Length'), [400], []],
  ['a header without a name', get(': x'), [400], []],
  ['NUL in a header value', get('X: a\0b'), [400], []],
  ['NUL in a header name', get('X\0: b'), [400], []],
  ['a control character in a header value', get('X: a\x01b'), [400], []],
  ['DEL in a header value', get('X: a\x7fb'), [400], []],
  ['bare line feeds throughout', get('X: y').replaceAll('\r\n', '\n'), [400], []],
  ['a head that ends in a bare line feed', `${get('X: y').slice(0, -2)}\n`, [400], []],
  ['no Host', lines('GET / HTTP/1.1', 'X: y', '', ''), [400], []],
  ['two Hosts', get('Host: HOST'), [400], []],
  ['two different Hosts', get('Host: other.localhost'), [400], []],
  ['a second Host in another case', get('hOST: other.localhost'), [400], []],
  ['a Host with a path', get().replace('HOST', 'HOST/x'), [400], []],
  ['a Host with a user', get().replace('HOST', 'a@HOST'), [400], []],
  ['a Host with a space', get().replace('HOST', 'HOST x'), [400], []],
  ['a list of Hosts', get().replace('HOST', 'HOST, HOST'), [400], []],
  ['an empty Host', get().replace('HOST', ''), [400], []],
  ['a Host with a word as its port', lines('GET / HTTP/1.1', 'Host: localhost:http', '', ''), [400], []],
  ['a full URL as the target', get().replace('GET /', 'GET http://HOST/'), [400], []],
  ['a full URL of another host', get().replace('GET /', 'GET http://169.254.169.254/'), [400], []],
  ['an authority as the target', get().replace('GET /', 'GET HOST:80'), [400], []],
  ['a fragment in the target', get().replace('GET /', 'GET /#x'), [400], []],
  ['a space in the target', get().replace('GET /', 'GET /a b'), [400], []],
  ['a tab in the target', get().replace('GET /', 'GET /a\tb'), [400], []],
  ['a byte above 0x7f in the target', get().replace('GET /', 'GET /\xe9'), [400], []],
  ['* for a GET', get().replace('GET /', 'GET *'), [400], []],
  ['CONNECT', get().replace('GET /', 'CONNECT HOST:80'), [405], []],
  ['TRACE', get().replace('GET', 'TRACE'), [405], []],
  ['a method in lower case', get().replace('GET', 'get'), [400], []],
  ['a method that is none', get().replace('GET', 'G@T'), [400], []],
  ['HTTP/0.9', 'GET /\r\n\r\n', [400], []],
  ['HTTP/1.2', get().replace('HTTP/1.1', 'HTTP/1.2'), [400], []],
  ['HTTP/2.0', get().replace('HTTP/1.1', 'HTTP/2.0'), [400], []],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400], []],
  [
    'a WebSocket handshake with a body',
    get(...WEBSOCKET, KEY, 'Content-Length: 3') + `abc${HIDDEN}`,
    [400],
    [],
  ],
  [
    'a WebSocket handshake with chunks',
    get(...WEBSOCKET, KEY, 'Transfer-Encoding: chunked') + `0\r\n\r\n${HIDDEN}`,
    [400],
    [],
  ],
  ['a WebSocket handshake by POST', get(...WEBSOCKET, KEY).replace('GET', 'POST'), [400], []],
  ['a head of 40 KiB', get(`X: ${'y'.repeat(40_000)}`), [431], []],
  ['300 header lines', get(...Array.from({ length: 300 }, (_, at) => `X-${at}: y`)), [431], []],
  [
    'a Transfer-Encoding behind 2,100 header lines',
    post(
      [...Array.from({ length: 2_100 }, () => 'A: b'), 'Transfer-Encoding: chunked'],
      `0\r\n\r\n${HIDDEN}`,
    ),
    [431],
    [],
  ],
  [
    'a refused head with a good request behind it',
    post(['Transfer-Encoding: gzip, chunked'], '0\r\n\r\n') + LAST,
    [400],
    [],
  ],
  [
    'an unknown expectation',
    post(['Expect: 200-ok', 'Content-Length: 0', 'Connection: close'], ''),
    [417],
    [],
  ],
];

const brokenBodies: readonly Row[] = [
  ['a chunk size that is none', chunked(`zz\r\n${HIDDEN}`), [400], []],
  ['an empty chunk size', chunked(`\r\n0\r\n\r\n${HIDDEN}`), [400], []],
  ['a negative chunk size', chunked(`-1\r\nab\r\n0\r\n\r\n${HIDDEN}`), [400], []],
  ['a chunk size with 0x', chunked(`0x3\r\nabc\r\n0\r\n\r\n${HIDDEN}`), [400], []],
  [
    'a chunk size that overflows 64 bits',
    chunked(`10000000000000003\r\nabc\r\n0\r\n\r\n${HIDDEN}`),
    [400],
    [],
  ],
  ['a chunk size with a space', chunked(`3 \r\nabc\r\n0\r\n\r\n${HIDDEN}`), [400], []],
  ['a chunk size ended by a line feed', chunked(`3\nabc\r\n0\r\n\r\n${HIDDEN}`), [400], []],
  ['a chunk extension with a line feed', chunked(`3;a\nabc\r\n0\r\n\r\n${HIDDEN}`), [400], []],
  ['chunk extensions of 20 KiB', chunked(`3;${'a'.repeat(20_000)}\r\nabc\r\n0\r\n\r\n`), [413], []],
  ['a chunk longer than it said', chunked(`3\r\nabcd\r\n0\r\n\r\n${HIDDEN}`), [400], []],
  ['a chunk ended by a line feed', chunked(`3\r\nabc\n0\r\n\r\n${HIDDEN}`), [400], []],
  ['a last chunk ended by line feeds', chunked(`3\r\nabc\r\n0\n\n${HIDDEN}`), [400], []],
  ['a length in the trailers', chunked(`3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n${HIDDEN}`), [400], []],
  ['a folded trailer', chunked(`0\r\nX: y\r\n z\r\n\r\n${HIDDEN}`), [400], []],
];

const H2C = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'];

const served: readonly Row[] = [
  // RFC 9110 section 7.8: an Upgrade may be ignored. Node reads nothing after such a request and
  // closes the connection.
  ['an upgrade to h2c, which is ignored', get(...H2C) + HIDDEN, [200], ['GET / 0']],
  [
    'a POST with an upgrade to h2c and a body',
    post([...H2C, `Content-Length: ${HIDDEN.length}`], HIDDEN + LAST),
    [200],
    ['POST /a HIDDEN'],
  ],
  [
    'a chunked POST with an upgrade to h2c',
    post([...H2C, 'Transfer-Encoding: chunked'], `3\r\nabc\r\n0\r\n\r\n${LAST}`),
    [200],
    ['POST /a 3'],
  ],
  [
    'an upgrade to websocket or h2c, which is ignored',
    get('Connection: Upgrade', 'Upgrade: websocket, h2c') + LAST,
    [200],
    ['GET / 0'],
  ],
  ['two requests sent at once', get() + LAST, [200, 200], ['GET / 0', 'GET /last 0']],
  [
    'a POST and what comes behind it',
    post(['Content-Length: 3'], `abc${LAST}`),
    [200, 200],
    ['POST /a 3', 'GET /last 0'],
  ],
  [
    'chunks and what comes behind them',
    chunked(`3\r\nabc\r\n0\r\n\r\n${LAST}`),
    [200, 200],
    ['POST /a 3', 'GET /last 0'],
  ],
  [
    'chunks in capitals',
    chunked(`3\r\nabc\r\n0\r\n\r\n${LAST}`).replace('chunked', 'CHUNKED'),
    [200, 200],
    ['POST /a 3', 'GET /last 0'],
  ],
  [
    'a chunk extension',
    chunked(`3;a=b\r\nabc\r\n0\r\n\r\n${LAST}`),
    [200, 200],
    ['POST /a 3', 'GET /last 0'],
  ],
  ['trailers', chunked(`3\r\nabc\r\n0\r\nX: y\r\n\r\n${LAST}`), [200, 200], ['POST /a 3', 'GET /last 0']],
  [
    'a chunked DELETE',
    chunked(`${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n${LAST}`, 'DELETE'),
    [200, 200],
    ['DELETE /a HIDDEN', 'GET /last 0'],
  ],
  [
    'a chunked OPTIONS',
    chunked(`${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n${LAST}`, 'OPTIONS'),
    [200, 200],
    ['OPTIONS /a HIDDEN', 'GET /last 0'],
  ],
  [
    'a chunked GET',
    chunked(`${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n${LAST}`, 'GET'),
    [200, 200],
    ['GET /a HIDDEN', 'GET /last 0'],
  ],
  [
    'a GET with a length',
    lines('GET /a HTTP/1.1', 'Host: HOST', 'Content-Length: 3', '', `abc${LAST}`),
    [200, 200],
    ['GET /a 3', 'GET /last 0'],
  ],
  [
    'a request hidden in a body',
    post([`Content-Length: ${HIDDEN.length}`], HIDDEN + LAST),
    [200, 200],
    ['POST /a HIDDEN', 'GET /last 0'],
  ],
  [
    'a length declared for one connection only',
    post(['Connection: keep-alive, Content-Length', 'Content-Length: 3'], `abc${LAST}`),
    [200, 200],
    ['POST /a 3', 'GET /last 0'],
  ],
  [
    'a chunked body declared for one connection only',
    chunked(`3\r\nabc\r\n0\r\n\r\n${LAST}`).replace('Transfer', 'Connection: Transfer-Encoding\r\nTransfer'),
    [200, 200],
    ['POST /a 3', 'GET /last 0'],
  ],
  [
    'an underscore for a hyphen in Content_Length',
    post(['Content_Length: 50', 'Content-Length: 3'], `abc${LAST}`),
    [200, 200],
    ['POST /a 3', 'GET /last 0'],
  ],
  ['empty lines in front of a request', `\r\n\r\n${LAST}`, [200], ['GET /last 0']],
  ['bytes behind a request that closes', `${LAST}${HIDDEN}`, [200], ['GET /last 0']],
  ['a good request, then a refused one', get() + get('Host: HOST') + HIDDEN, [200, 400], ['GET / 0']],
  ['a good request, then an unreadable one', `${get()}BAD\r\n\r\n${HIDDEN}`, [200, 400], ['GET / 0']],
  [
    'two good requests, then a broken body',
    get() + get() + chunked('zz\r\n'),
    [200, 200, 400],
    ['GET / 0', 'GET / 0'],
  ],
  [
    'OPTIONS *',
    lines('OPTIONS * HTTP/1.1', 'Host: HOST', 'Connection: close', '', ''),
    [200],
    ['OPTIONS * 0'],
  ],
  [
    'HTTP/1.0 with a body',
    lines('POST /a HTTP/1.0', 'Host: HOST', 'Content-Length: 3', '', 'abc'),
    [200],
    ['POST /a 3'],
  ],
];

const SIDES = [
  ['a preview', (fixture: GatewayFixture) => fixture.previewHost],
  ['the API', (fixture: GatewayFixture) => fixture.apiHost],
] as const;

/** No two parsers may disagree on a request. `sides`: what the listener serves. */
export function requestSmugglingContract(startGateway: StartGateway, sides: 1 | 2): void {
  describe.each(SIDES.slice(0, sides))('the strict front, before %s,', (side, hostOf) => {
    const arrived: string[] = [];
    let app: Listener;
    let fixture: GatewayFixture;

    beforeAll(async () => {
      app = await startApp((req: IncomingMessage, res: ServerResponse) => {
        let bytes = 0;
        req.on('data', (part: Buffer) => {
          bytes += part.length;
        });
        req.on('end', () => {
          arrived.push(`${req.method} ${req.url} ${bytes}`);
          res.end('app');
        });
      });
      fixture = await startGateway(app.port);
    });
    afterAll(async () => {
      await fixture.close();
      await app.close();
    });
    beforeEach(() => {
      arrived.length = 0;
      fixture.apiRequests.length = 0;
    });

    const checkRow = async ([, sent, statuses, expected]: Row): Promise<void> => {
      const host = hostOf(fixture);
      const fill = (text: string): string => text.replaceAll('HOST', host);
      // The sizes of chunks and bodies were computed with HOST in them.
      const sized = sent
        .replaceAll(`Content-Length: ${HIDDEN.length}\r\n`, `Content-Length: ${fill(HIDDEN).length}\r\n`)
        .replaceAll(`\r\n${HIDDEN.length.toString(16)}\r\n`, `\r\n${fill(HIDDEN).length.toString(16)}\r\n`);
      const answer = await sendRaw(fixture.port, fill(sized));
      expect(statusesOf(answer)).toEqual(statuses);
      expect(side === 'the API' ? fixture.apiRequests : arrived).toEqual(
        expected.map((request) => request.replace('HIDDEN', String(fill(HIDDEN).length))),
      );
      expect(side === 'the API' ? arrived : fixture.apiRequests).toEqual([]);
    };

    test.each(refusedHeads)('refuses %s', async (...row) => checkRow(row));
    test.each(brokenBodies)('refuses %s in a body', async (...row) => checkRow(row));
    test.each(served)('keeps in step through %s', async (...row) => checkRow(row));

    test('says what is wrong, in JSON and without the host', async () => {
      const answer = await sendRaw(fixture.port, get('Host: HOST').replaceAll('HOST', hostOf(fixture)));
      const body: unknown = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
      expect(body).toEqual({
        error: 'The request has 2 Host headers. Send exactly one.',
        code: 'invalid_request',
        retryable: false,
      });
      expect(answer).toMatch(/^Connection: close\r$/m);
      expect(answer).not.toContain(hostOf(fixture));
    });

    test('serves one request of a connection at a time', async () => {
      await sendRaw(fixture.port, (get().repeat(40) + LAST).replaceAll('HOST', hostOf(fixture)));
      expect(side === 'the API' ? fixture.apiRequests : arrived).toEqual([
        ...Array.from({ length: 40 }, () => 'GET / 0'),
        'GET /last 0',
      ]);
    });
  });

  test('has at least 60 hostile cases', () => {
    expect(refusedHeads.length + brokenBodies.length + served.length).toBeGreaterThanOrEqual(60);
  });
}
