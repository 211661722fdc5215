/** Visitors with more cookies than the head of a request may have. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { call } from '#test/support/in-process-host.ts';
import { PreviewVisitors } from './support/preview-visitors.ts';

let v: PreviewVisitors;
beforeAll(async () => {
  v = await PreviewVisitors.start(3473);
});
afterAll(() => v.porthole.end());

const cookie = Array.from({ length: 9 }, (_, at) => `of-app-${at}=${'x'.repeat(4_000)}`).join('; ');

test('see why on a page that removes the cookies', async () => {
  const { status, headers, text } = await v.get('/', { accept: 'text/html', cookie });
  expect(status).toBe(431);
  expect(headers).toMatchObject({
    'clear-site-data': '"cookies"',
    'x-porthole-status': 'cookies_too_large',
    'content-type': 'text/html; charset=utf-8',
    connection: 'close',
  });
  expect(text).toContain('This browser sends too many cookies');
  expect(await v.seen({ accept: 'text/html' })).toBe(true);
});

test('that are programs get the problem', async () => {
  const { status, headers, json } = await v.get('/', { cookie });
  expect([status, headers['content-type']]).toEqual([431, 'application/json; charset=utf-8']);
  expect(json()).toEqual({ error: expect.stringContaining('too many cookies'), code: 'cookies_too_large' });
});

test('lose no cookies for another header, for a head that few cookies make too large, or for the API', async () => {
  const large = 'x'.repeat(33_000);
  const host = new URL(v.porthole.host.url).host;
  const answers = [
    await v.get('/', { accept: 'text/html', 'x-large': large }),
    await v.get('/', { accept: 'text/html', 'x-large': large, cookie }),
    await call(v.porthole.host.port, 'GET', '/api/runs', { host, headers: { cookie } }),
  ];
  for (const { status, headers, json } of answers) {
    expect([status, json()['code']]).toEqual([431, 'headers_too_large']);
    expect(headers).not.toHaveProperty('clear-site-data');
  }
});

test('reach the app with what a head may have', async () => {
  expect(await v.seen({ cookie: cookie.slice(0, 12_000) })).toBe(true);
});
