import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { firstAnswer, rawExchange } from './support/raw-exchange.ts';
import { type MadeRun, makeRun, startPreview, outcome } from './support/runs.ts';

const LINK = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

describe('a browser that acts for another user', () => {
  let porthole: TestHost;
  let run: MadeRun;
  let previewHost: string;
  let own: string;
  beforeAll(async () => {
    porthole = await startTestHost({
      PORTHOLE_PUBLIC_URL: 'https://porthole.example.test',
      PORTHOLE_ALLOWED_HOSTS: 'Box.Example.Test, other.test',
    });
    run = await makeRun(porthole);
    const { session_id } = await startPreview(porthole, run.runId, 3000);
    previewHost = `${session_id}-preview.localhost:${porthole.host.port}`;
    own = `localhost:${porthole.host.port}`;
  });
  afterAll(() => porthole.end());

  const makes = (headers: Record<string, string>, host = own) =>
    porthole.call('POST', '/api/runs', { body: { title: 5 }, headers, host });

  describe('cannot call the API', () => {
    test.each<[string, () => Record<string, string>]>([
      ['from a foreign origin', () => ({ origin: 'https://evil.test' })],
      ['from a preview', () => ({ origin: `http://${previewHost}` })],
      ['from a sandboxed frame (Origin: null)', () => ({ origin: 'null' })],
      ['from another port of this machine', () => ({ origin: 'http://localhost:1' })],
      ['from an origin that only begins like ours', () => ({ origin: `http://${own}.evil.test` })],
      ['from an origin with a user', () => ({ origin: `http://${own}@evil.test` })],
      ['from our host by another scheme', () => ({ origin: `ftp://${own}` })],
      ['from nowhere (an empty Origin)', () => ({ origin: '' })],
      ['from the same site', () => ({ 'sec-fetch-site': 'same-site' })],
      ['from another site', () => ({ 'sec-fetch-site': 'cross-site' })],
      ['from a site of a kind yet unknown', () => ({ 'sec-fetch-site': 'near-site' })],
      [
        'from a preview that says same-origin',
        () => ({ origin: `http://${previewHost}`, 'sec-fetch-site': 'same-origin' }),
      ],
      ['by a link that is a POST', () => ({ ...LINK, 'sec-fetch-site': 'cross-site' })],
      [
        'with our origin and a cross-site mark',
        () => ({ origin: `http://${own}`, 'sec-fetch-site': 'cross-site' }),
      ],
    ])('%s', async (_name, headers) => {
      expect(outcome(await makes(headers()))).toEqual([403, 'origin_not_allowed']);
    });

    test('is refused from the plain http of the host that people reach by https', async () => {
      const answer = await makes({ origin: 'http://porthole.example.test' }, 'porthole.example.test');
      expect(outcome(answer)).toEqual([403, 'origin_not_allowed']);
    });

    test.each<[string, string, string]>([
      ['reading runs', 'GET', '/api/runs'],
      ['reading files', 'GET', '/v1/sandbox/{sandbox}/file/workspace/x'],
      ['writing files', 'PUT', '/v1/sandbox/{sandbox}/file/workspace/x'],
      ['deleting sandboxes', 'DELETE', '/v1/sandbox/{sandbox}'],
      ['running commands', 'POST', '/v1/sandbox/{sandbox}/exec'],
      ['reading metrics', 'GET', '/metrics'],
      ['reading the document', 'GET', '/v1/openapi.json'],
    ])('%s', async (_name, method, path) => {
      const answer = await porthole.call(method, path.replace('{sandbox}', run.sandboxId), {
        host: own,
        headers: { origin: `http://${previewHost}`, 'sec-fetch-site': 'same-site' },
      });
      expect(outcome(answer)).toEqual([403, 'origin_not_allowed']);
    });

    test('learns nothing from a credential: the origin is checked first', async () => {
      const answer = await porthole.call('GET', '/api/runs', {
        host: own,
        token: 'not-a-key',
        headers: { origin: 'https://evil.test' },
      });
      expect(outcome(answer)).toEqual([403, 'origin_not_allowed']);
    });

    test('gets no CORS header in any answer', async () => {
      const preflight = await porthole.call('OPTIONS', '/api/runs', {
        host: own,
        headers: { origin: 'https://evil.test', 'access-control-request-method': 'POST' },
      });
      const answer = await makes({ origin: 'https://evil.test' });
      for (const { headers } of [preflight, answer])
        expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
    });
  });

  describe('cannot reach the API under another name (DNS rebinding)', () => {
    test.each([
      'evil.test',
      'localhost.evil.test',
      '127.0.0.1.nip.io',
      'foo.localhost',
      '127.0.0.2',
      '[::2]',
      '0.0.0.0',
      'localhost.',
      '2130706433',
    ])('%s', async (name) => {
      const host = `${name}:${porthole.host.port}`;
      const answer = await makes({ origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }, host);
      expect(outcome(answer)).toEqual([403, 'unknown_host']);
    });
  });

  describe('may open a page by a link', () => {
    test.each(['/health', '/metrics', '/v1/openapi', '/v1/openapi.html', '/v1/openapi.json'])(
      '%s',
      async (path) => {
        const answer = await porthole.call('GET', path, {
          host: own,
          headers: { ...LINK, 'sec-fetch-site': 'cross-site' },
        });
        expect(answer.status).toBe(200);
      },
    );

    test.each<[string, Record<string, string>]>([
      ['in a frame', { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }],
      ['as a script', { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' }],
      ['by fetch', { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }],
      ['with a foreign Origin all the same', { ...LINK, origin: 'https://evil.test' }],
    ])('but not %s', async (_name, headers) => {
      const answer = await porthole.call('GET', '/v1/openapi', {
        host: own,
        headers: { 'sec-fetch-site': 'cross-site', ...headers },
      });
      expect(outcome(answer)).toEqual([403, 'origin_not_allowed']);
    });

    test('but not what is no page', async () => {
      const answer = await porthole.call('GET', '/api/runs', {
        host: own,
        headers: { ...LINK, 'sec-fetch-site': 'cross-site' },
      });
      expect(outcome(answer)).toEqual([403, 'origin_not_allowed']);
    });
  });

  describe('passes where it is our own page', () => {
    test.each<[string, () => Record<string, string>, () => string]>([
      ['with our origin', () => ({ origin: `http://${own}`, 'sec-fetch-site': 'same-origin' }), () => own],
      ['typed by the person', () => ({ 'sec-fetch-site': 'none' }), () => own],
      [
        'under 127.0.0.1',
        () => ({ origin: `http://127.0.0.1:${porthole.host.port}` }),
        () => `127.0.0.1:${porthole.host.port}`,
      ],
      [
        'under the public URL, through a proxy that keeps the Host',
        () => ({ origin: 'https://porthole.example.test', 'sec-fetch-site': 'same-origin' }),
        () => 'porthole.example.test',
      ],
      [
        'under the public URL, through a proxy that changes the Host',
        () => ({ origin: 'https://porthole.example.test' }),
        () => own,
      ],
      [
        'under an allowed host, in any case',
        () => ({ origin: 'http://BOX.example.test' }),
        () => 'BOX.example.test',
      ],
      ['under another allowed host', () => ({}), () => 'other.test:8080'],
      ['as a program, with no header of a browser', () => ({}), () => own],
    ])('%s', async (_name, headers, host) => {
      expect(outcome(await makes(headers(), host()))).toEqual([400, 'invalid_request']);
    });
  });

  describe('a WebSocket to the API', () => {
    const open = async (headers: string, host = own) =>
      firstAnswer(
        await rawExchange(
          porthole.host.port,
          `GET /api/runs HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${headers}\r\n`,
        ),
      );
    test.each<[string, () => string, number, string]>([
      ['from a foreign origin is 403', () => 'Origin: https://evil.test\r\n', 403, 'origin_not_allowed'],
      ['from a preview is 403', () => `Origin: http://${previewHost}\r\n`, 403, 'origin_not_allowed'],
      ['from the same site is 403', () => 'Sec-Fetch-Site: same-site\r\n', 403, 'origin_not_allowed'],
      ['from our own page is 404: it does not exist', () => `Origin: http://${own}\r\n`, 404, 'not_found'],
    ])('%s', async (_name, headers, status, code) => {
      expect(await open(headers())).toMatchObject({ status, body: { code } });
    });
  });
});
