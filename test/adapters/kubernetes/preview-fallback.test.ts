import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createPreviewFallback } from '#adapters/kubernetes/previews/preview-fallback.ts';
import type { Preview } from '#core/previews/preview-plane.ts';
import type { EndReason } from '#core/previews/preview-records.ts';
import { call } from '#test/support/in-process-host.ts';
import type { AccessLevel } from '#protocol/preview-access.ts';
import { previewName, tokenSha256 } from '#core/previews/preview-token.ts';

const TOKEN = 'calm-blue-otter-aaaaaaaaaaaaaaaaaaaaaaaaaa';

describe('the fallback for hosts without a route', () => {
  let server: Server;
  let url: string;
  let live: boolean | 'detached' | 'cannot be asked' | 'hangs';
  let ended: EndReason | undefined;
  let asleep: AccessLevel | undefined;
  let looks: number;
  let logged: string;
  let isDatabaseStuck: boolean;
  beforeEach(async () => {
    [live, ended, looks, logged, isDatabaseStuck] = [false, undefined, 0, '', false];
    asleep = undefined;
    const fallback = createPreviewFallback({
      plane: {
        find: async (token, signal) => {
          looks += 1;
          if (live === 'cannot be asked') throw new Error('no API server');
          if (live === 'hangs') await once(signal ?? new EventTarget(), 'abort');
          return live ? ({ token, targetPort: 3000, isDetached: live === 'detached' } as Preview) : undefined;
        },
      },
      records: {
        tombstone: async (tokenHash) => {
          if (isDatabaseStuck) await new Promise(() => {});
          return ended && tokenHash === tokenSha256(TOKEN)
            ? { tokenSha256: tokenHash, runId: 'run_1', reason: ended, at: new Date() }
            : undefined;
        },
      },
      asleep: async (token) =>
        token === TOKEN && asleep !== undefined ? ({ token, targetPort: 3000 } as Preview) : undefined,
      accessOf: async () => ({ level: asleep ?? 'link', epoch: 0, revoked: [] }),
      openPage: 'https://porthole.example.com/open',
      pollMs: 300,
      log: {
        warn: (fields, message) => {
          logged += JSON.stringify([fields, message], (_key, value: unknown) =>
            value instanceof Error ? value.message : value,
          );
        },
      },
    });
    server = createServer((req, res) => fallback.handleRequest(req, res, String(req.headers['x-token'])));
    server.on('upgrade', (req, socket, head) =>
      fallback.handleUpgrade(req, socket, head, String(req.headers['x-token'])),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  const ask = async (token = TOKEN) => {
    const response = await fetch(url, { headers: { 'x-token': token, accept: 'application/json' } });
    const { code } = (await response.json()) as { code: string };
    return [response.status, response.headers.get('x-porthole-status'), code];
  };

  test.each<[string, boolean, EndReason | undefined, number, string]>([
    ['a preview with a route that the gateway does not have yet', true, undefined, 503, 'starting'],
    ['a preview that has expired', false, 'expired', 410, 'expired'],
    ['a preview that was stopped', false, 'stopped', 410, 'stopped'],
    ['a preview without its sandbox', false, 'orphaned', 410, 'orphaned'],
    ['a preview that expired and was started again', true, 'expired', 503, 'starting'],
    ['a preview that is being stopped', true, 'stopped', 410, 'stopped'],
    ['an unknown token', false, undefined, 404, 'unknown'],
  ])('%s', async (_name, isLive, reason, status, page) => {
    [live, ended] = [isLive, reason];
    expect(await ask()).toEqual([status, page, page]);
  });

  test('sends people to where stopped previews start, and as well for unknown ones', async () => {
    const location = `https://porthole.example.com/open?preview=${previewName(TOKEN)}#path=%2F`;
    const modern = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    const old = { accept: 'text/html' };
    const sent = async (headers: Readonly<Record<string, string>>, method = 'GET') => {
      const port = Number(new URL(url).port);
      const answer = await call(port, method, '/', { headers: { 'x-token': TOKEN, ...headers } });
      return answer.headers.location ?? answer.status;
    };
    expect([await sent(modern), await sent(old), await sent({})]).toEqual([location, location, 404]);
    ended = 'expired';
    expect([await sent(modern), await sent(old)]).toEqual([410, 410]);
    asleep = 'org';
    expect([await sent(modern), await sent(old), await sent({})]).toEqual([location, location, 410]);
    asleep = 'link';
    expect([await sent(modern), await sent(old)]).toEqual([location, 410]);
    expect(await sent(modern, 'HEAD')).toBe(410);
    expect(await sent({ ...modern, 'sec-purpose': 'prefetch' })).toBe(410);
    live = true;
    expect(await sent(modern)).toBe(503);
  });

  test('sends people on while the sandbox of a preview is stopped, and no one else', async () => {
    [live, asleep] = ['detached', 'org'];
    const location = `https://porthole.example.com/open?preview=${previewName(TOKEN)}#path=%2F`;
    const sent = async (headers: Readonly<Record<string, string>>, method = 'GET') => {
      const port = Number(new URL(url).port);
      const answer = await call(port, method, '/', { headers: { 'x-token': TOKEN, ...headers } });
      return answer.headers.location ?? answer.status;
    };
    const modern = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    const old = { accept: 'text/html' };
    expect([await sent(modern), await sent(old), await sent({})]).toEqual([location, location, 503]);
    expect([await sent(modern, 'HEAD'), await sent(modern, 'POST')]).toEqual([503, 503]);
    asleep = 'link';
    expect([await sent(modern), await sent(old)]).toEqual([location, 503]);
    expect(await ask()).toEqual([503, 'sandbox_stopped', 'sandbox_stopped']);
    ended = 'stopped';
    expect(await sent(modern)).toBe(410);
  });

  test('looks nothing up for a host that names no token', async () => {
    expect(await ask('')).toEqual([404, 'unknown', 'unknown']);
    expect(await ask('x'.repeat(70))).toEqual([404, 'unknown', 'unknown']);
    expect(looks).toBe(0);
  });

  test('says so when it cannot look, and logs no token', async () => {
    live = 'cannot be asked';
    expect(await ask()).toEqual([502, 'unreachable', 'unreachable']);
    expect(logged).toContain('no API server');
    expect(logged).not.toContain(TOKEN);
  });

  test('looks for 8 at once, and tells the next to come back', async () => {
    live = 'hangs';
    const waiting = Array.from({ length: 8 }, () => fetch(url, { headers: { 'x-token': TOKEN } }));
    while (looks < 8) await once(server, 'request');
    expect(await ask()).toEqual([502, 'unreachable', 'unreachable']);
    expect(looks).toBe(8);
    server.closeAllConnections();
    await Promise.allSettled(waiting);
  });

  test('does not wait for a database that does not answer', async () => {
    isDatabaseStuck = true;
    expect(await ask()).toEqual([502, 'unreachable', 'unreachable']);
    expect(logged).toContain('a preview could not be looked up');
  });

  test('answers a WebSocket handshake with the page, and ends the connection', async () => {
    ended = 'stopped';
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(
      `GET / HTTP/1.1\r\nHost: a\r\nX-Token: ${TOKEN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    );
    let answer = '';
    for await (const chunk of socket.setEncoding('latin1')) answer += String(chunk);
    expect(answer).toMatch(/^HTTP\/1\.1 410 Gone\r\n/);
    expect(answer).toContain('X-Porthole-Status: stopped\r\n');
  });
});
