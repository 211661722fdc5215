import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { serve } from './support/commands.ts';
import { inventory } from './support/inventory.ts';
import { firstAnswer, rawExchange } from './support/raw-exchange.ts';
import { makeRun, startPreview } from './support/runs.ts';

/**
 * The request that an attacker hides behind the first one: a response to it means that the two
 * sides are out of step.
 */
const HIDDEN = 'POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n';

describe('ambiguous and malformed requests on the real host', () => {
  let porthole: TestHost;
  let previewHost: string;
  beforeAll(async () => {
    porthole = await startTestHost();
    const { runId, sandboxId } = await makeRun(porthole);
    await serve(porthole, sandboxId, 3468, 'the app');
    const { session_id } = await startPreview(porthole, runId, 3468);
    previewHost = `${session_id}-preview.localhost:${porthole.host.port}`;
  });
  afterAll(() => porthole.end());

  const cases: [string, (host: string) => string][] = [
    [
      'CL.TE',
      (host) =>
        `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${5 + HIDDEN.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
    ],
    [
      'TE.CL',
      (host) =>
        `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`,
    ],
    [
      'two lengths',
      (host) =>
        `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\nContent-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
    ],
    [
      'a list of lengths',
      (host) => `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0, ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
    ],
    [
      'a signed length',
      (host) => `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: +${HIDDEN.length}\r\n\r\n${HIDDEN}`,
    ],
    [
      'a hidden encoding',
      (host) => `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
    ],
    [
      'two encodings',
      (host) =>
        `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
    ],
    [
      'a space before the colon',
      (host) => `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
    ],
    ['a bare LF', (host) => `GET / HTTP/1.1\nHost: ${host}\n\n${HIDDEN}`],
    ['a folded header', (host) => `GET / HTTP/1.1\r\nHost: ${host}\r\nX-A: b\r\n c\r\n\r\n${HIDDEN}`],
    ['a NUL in a value', (host) => `GET / HTTP/1.1\r\nHost: ${host}\r\nX-A: b\0c\r\n\r\n${HIDDEN}`],
    ['two Hosts', (host) => `GET / HTTP/1.1\r\nHost: ${host}\r\nHost: localhost\r\n\r\n${HIDDEN}`],
    [
      'a length of a chunk that overflows',
      (host) =>
        `POST /api/runs HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n${HIDDEN}`,
    ],
    [
      'encoding in HTTP/1.0',
      (host) => `POST / HTTP/1.0\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
    ],
    [
      'an upgrade with a body',
      (host) =>
        `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nContent-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
    ],
  ];

  describe.each<[string, () => string]>([
    ['to the API', () => 'localhost'],
    ['to a preview', () => previewHost],
  ])('%s', (_name, host) => {
    test.each(cases)('%s: one refusal, then the end of the connection', async (_case, bytes) => {
      const before = await inventory(porthole);
      const answer = firstAnswer(await rawExchange(porthole.host.port, bytes(host())));
      expect(answer.status).toBe(400);
      expect(answer.answers).toBe(1);
      expect(await inventory(porthole)).toEqual(before);
    });
  });

  describe('malformed and refused', () => {
    const health = 'GET /health HTTP/1.1\r\n';
    const local = `${health}Host: localhost\r\n`;
    const preview = (name: string) => upgrade(`${name}-preview.localhost`);
    const unknown = `no-such-token-${'a'.repeat(26)}`;
    test.each<[what: string, bytes: () => string, status: number, code: string]>([
      ['no Host', () => `${health}\r\n`, 400, 'invalid_request'],
      ['a Host with a path', () => `${health}Host: localhost/x\r\n\r\n`, 400, 'invalid_request'],
      ['an unknown Host', () => `${health}Host: evil.test\r\n\r\n`, 403, 'unknown_host'],
      ['a Host with a trailing dot', () => `${health}Host: localhost.\r\n\r\n`, 403, 'unknown_host'],
      [
        'a preview host with a trailing dot',
        () => `${health}Host: ${previewHost.split(':')[0]}.\r\n\r\n`,
        403,
        'unknown_host',
      ],
      ['HTTP/2 without TLS', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'invalid_request'],
      [
        'CONNECT',
        () => 'CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n\r\n',
        405,
        'method_not_allowed',
      ],
      [
        'a full URL as the target',
        () => 'GET http://localhost/health HTTP/1.1\r\nHost: localhost\r\n\r\n',
        400,
        'invalid_request',
      ],
      ['32 KiB of headers', () => `${local}X-Large: ${'x'.repeat(33_000)}\r\n\r\n`, 431, 'headers_too_large'],
      [
        '32 KiB of cookies',
        () => `${local}Cookie: a=${'x'.repeat(33_000)}\r\n\r\n`,
        431,
        'headers_too_large',
      ],
      [
        '32 KiB of cookies for a preview that is unknown',
        () =>
          `GET / HTTP/1.1\r\nHost: ${unknown}-preview.localhost\r\nCookie: a=${'x'.repeat(33_000)}\r\n\r\n`,
        431,
        'cookies_too_large',
      ],
      [
        '32 KiB of other headers, and cookies, for a preview',
        () =>
          `GET / HTTP/1.1\r\nHost: ${previewHost}\r\nCookie: a=${'x'.repeat(9_000)}\r\nX-Large: ${'x'.repeat(33_000)}\r\n\r\n`,
        431,
        'headers_too_large',
      ],
      [
        'two lengths, and 32 KiB of cookies for a preview',
        () =>
          `POST / HTTP/1.1\r\nHost: ${previewHost}\r\nContent-Length: 0\r\nContent-Length: 0\r\nCookie: a=${'x'.repeat(33_000)}\r\n\r\n`,
        400,
        'invalid_request',
      ],
      [
        'a WebSocket with 32 KiB of cookies for a preview',
        () => `${preview(unknown).replace(/\r\n\r\n$/, '')}\r\nCookie: a=${'x'.repeat(33_000)}\r\n\r\n`,
        431,
        'headers_too_large',
      ],
      ['300 headers', () => `${local}${'X-Many: x\r\n'.repeat(300)}\r\n`, 431, 'headers_too_large'],
      ['a header without a colon', () => `${local}nonsense\r\n\r\n`, 400, 'invalid_request'],
      ['bytes of TLS', () => '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1', 400, 'invalid_request'],
      ['a WebSocket on the API', () => upgrade('localhost'), 404, 'not_found'],
      ['a WebSocket on an unknown Host', () => upgrade('evil.test'), 403, 'unknown_host'],
      ['a WebSocket for an unknown token', () => preview(unknown), 404, 'unknown'],
      ['a WebSocket for a host of the zone that names no token', () => preview('x'), 404, 'unknown'],
    ])('%s is refused once, and the connection ends', async (_name, bytes, status, code) => {
      const before = await inventory(porthole);
      expect(firstAnswer(await rawExchange(porthole.host.port, bytes()))).toMatchObject({
        status,
        body: { code },
        answers: 1,
      });
      expect(await inventory(porthole)).toEqual(before);
    });
  });

  test('gives two honest requests on one connection two answers, in order, from API and app', async () => {
    const text = await rawExchange(
      porthole.host.port,
      `GET / HTTP/1.1\r\nHost: ${previewHost}\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    expect(firstAnswer(text)).toMatchObject({ status: 200, answers: 2 });
    expect(text.indexOf('the app')).toBeLessThan(text.indexOf('{"ok":true'));
  });
});

function upgrade(host: string): string {
  return `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;
}
