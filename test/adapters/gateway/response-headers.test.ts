import { describe, expect, test } from '@jest/globals';
import { ownLocation, responseHeaders, withoutDomain } from '#adapters/gateway/response-headers.ts';

describe('a cookie loses its Domain', () => {
  test.each([
    ['a=b; Domain=localhost; Path=/', 'a=b; Path=/'],
    ['a=b;domain=.localhost', 'a=b'],
    ['a=b; DOMAIN = x; Secure', 'a=b; Secure'],
    ['a=b; Domain', 'a=b'],
    ['a=b;\tDomain=x;Domain=y; HttpOnly', 'a=b; HttpOnly'],
    ['domain=b; Path=/', 'domain=b; Path=/'],
    ['a=domain=x', 'a=domain=x'],
    ['a=b; DomainName=x', 'a=b; DomainName=x'],
    ['a=b; Path=/; SameSite=None; Partitioned', 'a=b; Path=/; SameSite=None; Partitioned'],
  ])('%s becomes %s', (cookie, kept) => {
    expect(withoutDomain(cookie)).toBe(kept);
  });
});

describe('a redirect to the app’s own address leads to the preview', () => {
  test.each([
    ['http://localhost:3000/a?b#c', 'http://own/a?b#c'],
    ['http://localhost:3000', 'http://own'],
    ['https://localhost:3000/', 'http://own/'],
    ['HTTP://LOCALHOST:3000/', 'http://own/'],
    ['//localhost:3000/a', 'http://own/a'],
    ['http://127.0.0.1:3000/a', 'http://own/a'],
    ['http://[::1]:3000?x', 'http://own?x'],
    ['http://0.0.0.0:3000/a', 'http://own/a'],
    ['http://localhost:3001/a', 'http://localhost:3001/a'],
    ['http://localhost/a', 'http://localhost/a'],
    ['http://localhost:3000.evil.example/', 'http://localhost:3000.evil.example/'],
    ['http://localhost:3000@evil.example/', 'http://localhost:3000@evil.example/'],
    ['/a', '/a'],
    ['https://example.com/http://localhost:3000/', 'https://example.com/http://localhost:3000/'],
  ])('%s becomes %s', (location, led) => {
    expect(ownLocation(location, 'http://own', 3000)).toBe(led);
  });
});

test('what concerns one connection, and what only the gateway may say, is left out', () => {
  const rawHeaders = [
    'Content-Type',
    'text/html',
    'Connection',
    'X-Hop',
    'X-Hop',
    '1',
    'Keep-Alive',
    'timeout=5',
    'Clear-Site-Data',
    '"cookies"',
    'Transfer-Encoding',
    'chunked',
    'Trailer',
    'X',
    'Set-Cookie',
    'a=b; Domain=x',
    'Set-Cookie',
    'c=d',
    'referrer-policy',
    'unsafe-url',
    'X-Robots-Tag',
    'all',
    'X-Porthole-Status',
    'expired',
  ];
  const head = {
    status: 200,
    reason: 'OK',
    rawHeaders,
    connection: ',x-hop',
    contentLength: undefined,
    chunked: true,
  };
  expect(responseHeaders({ ...head, keepAlive: true }, 'http://own', 3000)).toEqual([
    'Content-Type',
    'text/html',
    'Set-Cookie',
    'a=b',
    'Set-Cookie',
    'c=d',
    'Referrer-Policy',
    'no-referrer',
    'X-Robots-Tag',
    'noindex, nofollow',
  ]);
});
