import { describe, expect, test } from '@jest/globals';
import {
  decideOrigin,
  publicUrl,
  responseHeaders,
  withFrameAncestors,
  withoutDomain,
} from '#proxy/preview-headers.ts';
import { sessionCookie, signInCookie } from '#handlers/auth/session-cookie.ts';

const token = `calm-blue-otter-${'a'.repeat(26)}`;
const sibling = `kind-red-heron-${'b'.repeat(26)}`;
const stranger = `wild-grey-lynx-${'c'.repeat(26)}`;
const CONSOLE = 'http://localhost:8787';
const siblings = {
  portOf: (hostname: string) => (hostname === `${sibling}-preview.localhost` ? 5000 : undefined),
  hostOf: (port: number) => (port === 5000 ? `${sibling}-preview.localhost` : undefined),
  targetOf: () => undefined,
};
const view = { scheme: 'http', host: 'own:8787', targetPort: 3000, siblings } as const;

describe('an Origin', () => {
  const at = { ...view, host: `${token}-preview.localhost:8787` };
  const decide = (origin: string | undefined, url: string, isUpgrade = false) => {
    const decision = decideOrigin({ url, headers: { origin } }, at, isUpgrade);
    return typeof decision === 'object' ? decision.localPort : decision;
  };

  test.each([
    ['keep', 'keep', undefined],
    [3000, 3000, `http://${token}-preview.localhost:8787`],
    [5000, 5000, `http://${sibling}-preview.localhost:8787`],
    ['keep', 'refuse', `http://${stranger}-preview.localhost:8787`],
    ['keep', 'refuse', `https://${token}-preview.localhost:8787`],
    ['keep', 'refuse', `http://${token}-preview.localhost`],
    ['keep', 'refuse', `http://${token}-preview.localhost:3000`],
    ['keep', 'refuse', `http://${token}-preview.localhost:8787.evil.example`],
    ['keep', 'refuse', `http://${sibling}-preview.localhost.evil.example:8787`],
    ['keep', 'refuse', `http://evil.example/?http://${token}-preview.localhost:8787`],
    ['keep', 'refuse', `http://${sibling}-preview.localhost:3000`],
    ['keep', 'refuse', 'http://localhost:8787'],
    ['keep', 'refuse', 'https://evil.example'],
    ['keep', 'refuse', 'null'],
    ['keep', 'refuse', ''],
  ] as const)('decides %s on requests and %s on WebSockets for %s', (onRequest, onUpgrade, origin) => {
    expect(decide(origin, '/any')).toBe(onRequest);
    expect(decide(origin, '/any', true)).toBe(onUpgrade);
    expect(decide(origin, '/_next/webpack-hmr')).toBe(onUpgrade);
  });

  test.each(['/_nextish', '/%5fnext/x', '//_next/x', '/a/../_next/x'])(
    'compares the path as sent (%s)',
    (url) => {
      expect(decide(`http://${stranger}-preview.localhost:8787`, url)).toBe('keep');
    },
  );
});

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

describe('a URL of the app’s own address leads to the preview', () => {
  test.each([
    ['http://localhost:3000/a?b#c', 'http://own:8787/a?b#c'],
    ['http://localhost:3000', 'http://own:8787'],
    ['https://localhost:3000/', 'http://own:8787/'],
    ['HTTP://LOCALHOST:3000/', 'http://own:8787/'],
    ['//localhost:3000/a', 'http://own:8787/a'],
    ['http://127.0.0.1:3000/a', 'http://own:8787/a'],
    ['http://[::1]:3000?x', 'http://own:8787?x'],
    ['http://0.0.0.0:3000/a', 'http://own:8787/a'],
    ['https://own/a', 'http://own:8787/a'],
    ['http://OWN:3000/a', 'http://own:8787/a'],
    ['http://own.evil.example/', 'http://own.evil.example/'],
    ['http://own@evil.example/', 'http://own@evil.example/'],
    ['http://localhost:3001/a', 'http://localhost:3001/a'],
    ['http://localhost:5000/a?b', `http://${sibling}-preview.localhost:8787/a?b`],
    ['http://127.0.0.1:5000', `http://${sibling}-preview.localhost:8787`],
    ['http://example.com:5000/', 'http://example.com:5000/'],
    ['http://localhost:5000.evil.example/', 'http://localhost:5000.evil.example/'],
    ['http://localhost/a', 'http://localhost/a'],
    ['http://localhost:3000.evil.example/', 'http://localhost:3000.evil.example/'],
    ['http://localhost:3000@evil.example/', 'http://localhost:3000@evil.example/'],
    ['/a', '/a'],
    ['https://example.com/http://localhost:3000/', 'https://example.com/http://localhost:3000/'],
  ])('%s becomes %s', (url, led) => {
    expect(publicUrl(url, view)).toBe(led);
  });
});

/** The client's headers of a response with these headers. */
function passed(
  rawHeaders: readonly string[],
  connection = '',
  ancestors: readonly string[] = [CONSOLE],
  isLimited = false,
) {
  const head = {
    status: 200,
    reason: 'OK',
    rawHeaders,
    connection,
    contentLength: undefined,
    chunked: true,
    keepAlive: true,
  };
  const headers = responseHeaders(head, view, ancestors, isLimited);
  expect(headers.splice(-4)).toEqual(['Referrer-Policy', 'same-origin', 'X-Robots-Tag', 'noindex, nofollow']);
  return headers;
}

test.each([
  ['0; url=http://localhost:3000/x', '0; url=http://own:8787/x'],
  [`5;URL='http://localhost:3000'`, `5;URL='http://own:8787'`],
  ['1, http://localhost:3000/', '1, http://own:8787/'],
  ['0; url=/x', '0; url=/x'],
  ['0; url=http://localhost:3001/', '0; url=http://localhost:3001/'],
  ['10', '10'],
])('maps the URL of a Refresh header: %s becomes %s', (value, mapped) => {
  expect(passed(['Refresh', value])).toEqual(['Refresh', mapped]);
});

describe('an app that forbids frames', () => {
  test.each([
    [`frame-ancestors 'none'`, `frame-ancestors ${CONSOLE}`],
    [`frame-ancestors 'self'; report-uri /csp`, `frame-ancestors 'self' ${CONSOLE}; report-uri /csp`],
    [
      `default-src 'self';FRAME-ANCESTORS  a.example`,
      `default-src 'self'; FRAME-ANCESTORS a.example ${CONSOLE}`,
    ],
    [`frame-ancestors`, `frame-ancestors ${CONSOLE}`],
    [`img-src *, frame-ancestors 'self'`, `img-src *,frame-ancestors 'self' ${CONSOLE}`],
    [`default-src 'self'; x-frame-ancestors y`, `default-src 'self'; x-frame-ancestors y`],
  ])('lets the console show it, by Content-Security-Policy: %s', (value, allowed) => {
    expect(withFrameAncestors(value, [CONSOLE]).value).toBe(allowed);
  });

  test.each([
    [['DENY'], `frame-ancestors ${CONSOLE}`],
    [['sameorigin'], `frame-ancestors 'self' ${CONSOLE}`],
    [['SAMEORIGIN', 'DENY'], `frame-ancestors ${CONSOLE}`],
  ])('lets the console show it, by X-Frame-Options: %s', (values, policy) => {
    const options = values.flatMap((value) => ['X-Frame-Options', value]);
    expect(passed([...options, 'Content-Security-Policy', `default-src 'self'`])).toEqual([
      'Content-Security-Policy',
      `default-src 'self'`,
      'Content-Security-Policy',
      policy,
    ]);
  });

  test('says it once where frame-ancestors already says it', () => {
    expect(passed(['X-Frame-Options', 'DENY', 'Content-Security-Policy', `frame-ancestors 'self'`])).toEqual([
      'Content-Security-Policy',
      `frame-ancestors 'self' ${CONSOLE}`,
    ]);
  });

  test('is left alone where no console is known, or browsers do not understand the header', () => {
    const deny = ['X-Frame-Options', 'DENY', 'Content-Security-Policy', `frame-ancestors 'none'`];
    expect(passed(deny, '', [])).toEqual([...deny.slice(2), ...deny.slice(0, 2)]);
    expect(passed(['X-Frame-Options', 'ALLOW-FROM x'])).toEqual(['X-Frame-Options', 'ALLOW-FROM x']);
  });
});

test.each([
  [[], [`frame-ancestors 'self' ${CONSOLE}`]],
  [
    ['Content-Security-Policy', `img-src *`],
    ['img-src *', `frame-ancestors 'self' ${CONSOLE}`],
  ],
  [['Content-Security-Policy', `frame-ancestors *`], [`frame-ancestors * ${CONSOLE}`]],
  [['X-Frame-Options', 'DENY'], [`frame-ancestors ${CONSOLE}`]],
])(
  'lets no other page show a preview that is not open to everyone, unless the app does: %j',
  (sent, policies) => {
    const headers = passed(sent, '', [CONSOLE], true);
    expect(headers.filter((_, at) => headers[at - 1] === 'Content-Security-Policy')).toEqual(policies);
  },
);

test('cannot set a cookie in the place of the console’s', () => {
  const names = ['https://a', undefined].flatMap((origin) => [sessionCookie(origin), signInCookie(origin)]);
  expect(passed(names.flatMap((name) => ['Set-Cookie', `${name}=mine`]))).toEqual([]);
  expect(passed(['Set-Cookie', 'porthole-sessions=1'])).toEqual(['Set-Cookie', 'porthole-sessions=1']);
});

test('leaves out what concerns one connection, and what only the gateway may say', () => {
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
  expect(passed(rawHeaders, ',x-hop')).toEqual([
    'Content-Type',
    'text/html',
    'Set-Cookie',
    'a=b',
    'Set-Cookie',
    'c=d',
  ]);
});
