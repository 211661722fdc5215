import { describe, expect, test } from '@jest/globals';
import { statusPage, statusPageBody } from '#proxy/status-page.ts';

describe('a status page', () => {
  test.each([
    ['nothing_listens', 502, true],
    ['sandbox_stopped', 503, true],
    ['starting', 503, true],
    ['unreachable', 502, true],
    ['bad_response', 502, true],
    ['busy', 503, true],
    ['foreign_origin', 403, false],
    ['bad_handshake', 400, false],
    ['cookies_too_large', 431, false],
    ['expired', 410, false],
    ['stopped', 410, false],
    ['orphaned', 410, false],
    ['unknown', 404, false],
    ['too_many_requests', 429, false],
    ['access_required', 401, false],
    ['bad_ticket', 403, false],
    ['not_open', 404, false],
    ['report', 200, false],
  ] as const)('shows %s with status %i and refreshes by itself: %s', (status, statusCode, again) => {
    const page = statusPage(status, { targetPort: 3000 });
    expect(page.statusCode).toBe(statusCode);
    expect(page.headers).toMatchObject({
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
      'X-Porthole-Status': status,
      'X-Robots-Tag': 'noindex, nofollow',
    });
    expect(page.html.includes('http-equiv="refresh" content="2"')).toBe(again);
    expect(page.headers['Retry-After']).toBe(again ? '2' : undefined);
    expect(JSON.parse(page.json)).toEqual({ error: expect.any(String) as unknown, code: status });
  });

  test('says which port nothing listens on', () => {
    const page = statusPage('nothing_listens', { targetPort: 5173 });
    expect(page.html).toContain('<h1>Nothing listens on port 5173 yet</h1>');
    expect(page.json).toContain('Nothing listens on port 5173 yet');
  });

  test('needs no script and nothing from elsewhere, and fits a phone, light or dark', () => {
    const { html, headers } = statusPage('starting');
    expect(html).not.toMatch(/<script|<link|<img|url\(|https?:/);
    expect(html).toContain('<meta name="viewport" content="width=device-width,initial-scale=1">');
    expect(html).toContain('color-scheme:light dark');
    expect(headers['Content-Security-Policy']).toContain("default-src 'none'");
  });

  test('escapes what it is given', () => {
    const { html } = statusPage('bad_response', { detail: `<img src=x onerror="a('&')">` });
    expect(html).toContain('&lt;img src=x onerror=&quot;a(&#39;&amp;&#39;)&quot;&gt;');
    expect(html).not.toContain('<img');
  });

  test('says how to report a preview, with the address that it is given', () => {
    const mail = statusPage('report', { host: 'a-preview.test', contact: 'abuse@porthole.test' });
    expect(mail.statusCode).toBe(200);
    expect(mail.html).toContain(
      '<a href="mailto:abuse@porthole.test?subject=Report%20of%20a-preview.test">abuse@porthole.test</a>',
    );
    const page = statusPage('report', { host: '"><b>', contact: 'https://porthole.test/abuse?a=b&c' });
    expect(page.html).toContain('<a href="https://porthole.test/abuse?a=b&amp;c">');
    expect(page.html).toContain('name the address &quot;&gt;&lt;b&gt;.');
    expect(statusPage('report', {}).html).toContain('write to the operator of this domain');
  });

  test.each([
    ['text/html,application/xhtml+xml,*/*;q=0.8', 'text/html; charset=utf-8'],
    ['TEXT/HTML; q=0.9', 'text/html; charset=utf-8'],
    ['application/json', 'application/json; charset=utf-8'],
    ['application/json, text/html', 'application/json; charset=utf-8'],
    ['text/html, application/json', 'text/html; charset=utf-8'],
    ['*/*', 'application/json; charset=utf-8'],
    [undefined, 'application/json; charset=utf-8'],
  ])('is sent to a client that accepts %s as %s', (accept, type) => {
    expect(statusPageBody(statusPage('unknown'), accept).type).toBe(type);
  });
});
