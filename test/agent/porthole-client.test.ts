import { setTimeout as after } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { callPorthole, type ClientOptions, type Request } from '../../agent/porthole-client.ts';
import { answerJson, type HeldServer, heldServer } from './held-server.ts';

const START: Request = { method: 'POST', path: 'api/x', body: { target_port: 3000 }, mayWait: true };
const LOOK: Request = { method: 'GET', path: 'api/x' };
const TOKEN = 'eyJ.the-agents.token';

let server: HeldServer | undefined;
afterEach(async () => {
  await server?.end();
  server = undefined;
});

function options(baseUrl: string, more: Partial<ClientOptions> = {}): ClientOptions {
  return { baseUrl, agentToken: TOKEN, fetch: globalThis.fetch, renewMs: 60_000, ...more };
}

describe('a call that waits for a person', () => {
  test('survives a proxy that cuts idle connections, and waits at every moment', async () => {
    let first: number | undefined;
    server = await heldServer((req, res) => {
      first ??= performance.now();
      const cut = setTimeout(() => req.socket.destroy(), 500);
      res.once('close', () => clearTimeout(cut));
      const left = 2_000 - (performance.now() - first);
      setTimeout(() => answerJson(res, 200, { decided: true }), left).unref();
    });
    const reply = await callPorthole(options(server.url, { renewMs: 200, overlapMs: 180 }), START);
    expect(reply).toEqual({ kind: 'answered', data: { decided: true } });
    expect(server.wasLeft()).toBe(false);
    expect(server.asked.length).toBeGreaterThan(5);
    expect(new Set(server.asked.map(({ line, body }) => `${line} ${body}`))).toEqual(
      new Set(['POST /api/x {"target_port":3000}']),
    );
  });

  test('has at most two connections, and none once it is answered', async () => {
    let most = 0;
    server = await heldServer((_req, res) => {
      most = Math.max(most, server?.open() ?? 0);
      if ((server?.asked.length ?? 0) === 8) answerJson(res, 403, { error: 'no', code: 'approval_denied' });
    });
    const reply = await callPorthole(options(server.url, { renewMs: 60, overlapMs: 30 }), START);
    expect(reply).toEqual({ kind: 'refused', code: 'approval_denied', message: 'no' });
    expect(most).toBe(2);
    while (server.open() > 0) await after(5);
  });

  test('rejects with the reason and hangs up when it is aborted', async () => {
    const gone = new AbortController();
    server = await heldServer(() => gone.abort(new Error('enough')));
    await expect(callPorthole(options(server.url), START, gone.signal)).rejects.toThrow('enough');
    while (server.open() > 0) await after(5);
    expect(server.wasLeft()).toBe(true);
    await expect(callPorthole(options(server.url), START, gone.signal)).rejects.toThrow('enough');
    expect(server.asked).toHaveLength(1);
  });
});

describe('a call that is lost', () => {
  test('is repeated once Porthole is back', async () => {
    server = await heldServer((req) => req.socket.destroy());
    const { port, url } = server;
    const calling = callPorthole(options(url), LOOK);
    while (server.asked.length === 0) await after(5);
    await server.end();
    server = await heldServer((_req, res) => answerJson(res, 200, []), port);
    expect(await calling).toEqual({ kind: 'answered', data: [] });
  });

  test.each<[string, number, string, string]>([
    ['a proxy in front', 504, 'text/html', '<h1>Gateway Time-out</h1>'],
    [
      'Porthole itself, for a moment',
      503,
      'application/json',
      '{"error":"busy","code":"service_unavailable"}',
    ],
  ])('to %s is repeated', async (_name, status, type, body) => {
    server = await heldServer((_req, res) => {
      if (server?.asked.length !== 1) return answerJson(res, 200, 'well');
      res.writeHead(status, { 'content-type': type });
      res.end(body);
    });
    expect(await callPorthole(options(server.url), LOOK)).toEqual({ kind: 'answered', data: 'well' });
    expect(server.asked).toHaveLength(2);
  });

  test('gives up when there is never an answer', async () => {
    server = await heldServer(() => {});
    const reply = await callPorthole(
      options(server.url, { renewMs: 50, overlapMs: 20, limitMs: 300 }),
      START,
    );
    expect(reply).toEqual({ kind: 'unreachable', message: 'no answer within 0.3 seconds' });
    while (server.open() > 0) await after(5);
  });

  test('gives up when Porthole stays away, and says why', async () => {
    server = await heldServer(() => {});
    const { port, url } = server;
    await server.end();
    server = undefined;
    const reply = await callPorthole(options(url, { awayMs: 600 }), LOOK);
    expect(reply).toEqual({ kind: 'unreachable', message: expect.stringContaining(`127.0.0.1:${port}`) });
  });
});

test('sends the token in the header, to Porthole alone, and keeps the path of the base URL', async () => {
  const elsewhere = await heldServer((_req, res) => answerJson(res, 200, {}));
  server = await heldServer((_req, res) => {
    res.writeHead(307, { location: `${elsewhere.url}/stolen` });
    res.end();
  });
  const reply = await callPorthole(options(`${server.url}/porthole`, { awayMs: 0 }), LOOK);
  expect(reply.kind).toBe('unreachable');
  expect(JSON.stringify(reply)).not.toContain(TOKEN);
  expect(server.asked).toEqual([{ line: 'GET /porthole/api/x', body: '', authorization: `Bearer ${TOKEN}` }]);
  expect(elsewhere.asked).toEqual([]);
  await elsewhere.end();
});
