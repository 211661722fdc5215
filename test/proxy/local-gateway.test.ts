import { afterEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { WebSocket, WebSocketServer } from 'ws';
import { PortholeError } from '#base/errors.ts';
import {
  dialLoopback,
  fetchRaw,
  type Listener,
  type LocalFixture,
  sendRaw,
  startApp,
  startGateway,
  statusesOf,
  TOKEN,
} from './gateway-fixture.ts';
import { hostileAppContract } from './hostile-app.contract.ts';
import { previewProxyContract } from './preview-proxy.contract.ts';
import { requestSmugglingContract } from './request-smuggling.contract.ts';
import { siblingPortsContract } from './sibling-ports.contract.ts';
import { siblingsContract } from './siblings.contract.ts';
import { webSocketContract } from './websocket.contract.ts';
import { previewUseContract } from './preview-use.contract.ts';

previewProxyContract(startGateway);
webSocketContract(startGateway);
previewUseContract(startGateway);
siblingsContract(startGateway);
siblingPortsContract(startGateway);
hostileAppContract(startGateway);
requestSmugglingContract(startGateway, 2);

let open: Listener[] = [];
afterEach(async () => {
  for (const listener of open.toReversed()) await listener.close();
  open = [];
});

const echo = (req: IncomingMessage, res: ServerResponse): void => void res.end(req.url);

async function gateway(
  app: typeof echo,
  overrides: Parameters<typeof startGateway>[1] = {},
): Promise<LocalFixture> {
  const listener = await startApp(app);
  const fixture = await startGateway(listener.port, overrides);
  open.push(listener, fixture);
  return fixture;
}

describe('where the app does not answer', () => {
  test.each([
    ['nothing_listens', 502, 'nothing_listens'],
    ['sandbox_not_running', 503, 'sandbox_stopped'],
    ['sandbox_not_found', 503, 'sandbox_stopped'],
    ['exec_transport_error', 502, 'unreachable'],
  ] as const)('answers a dial that fails with %s with a %i page', async (code, status, name) => {
    const fixture = await gateway(echo, { dial: () => Promise.reject(new PortholeError(code, 'no')) });
    const answer = await fetchRaw(fixture.port, fixture.previewHost, '/', { Accept: 'text/html' });
    expect([answer.status, answer.headers['x-porthole-status']]).toEqual([status, name]);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.raw).not.toContain(TOKEN);
    expect(fixture.answered).toEqual([`${status} ${name}`]);
  });

  test.each(['stopped', 'expired', 'orphaned'] as const)(
    'answers 410 for a preview that has ended as %s',
    async (reason) => {
      const fixture = await gateway(echo, { lookup: () => ({ kind: 'ended', reason }) });
      const answer = await fetchRaw(fixture.port, fixture.previewHost);
      expect([answer.status, answer.headers['x-porthole-status']]).toEqual([410, reason]);
    },
  );

  test('answers 404 for a token that the lookup does not find either', async () => {
    const fixture = await gateway(echo, { lookup: async () => ({ kind: 'unknown' }) });
    expect((await fetchRaw(fixture.port, fixture.previewHost)).status).toBe(404);
  });

  test('shows a page for a store that fails, too, and logs a line without the token', async () => {
    const fixture = await gateway(echo, { lookup: () => Promise.reject(new Error('disk')) });
    expect((await fetchRaw(fixture.port, fixture.previewHost)).headers['x-porthole-status']).toBe(
      'unreachable',
    );
    expect(fixture.logged).toHaveLength(1);
    expect(fixture.logged.join()).not.toContain(TOKEN);
  });

  test('drops the rest of an upload, and keeps the connection usable', async () => {
    const fixture = await gateway(echo, { lookup: () => ({ kind: 'unknown' }) });
    const post = `POST / HTTP/1.1\r\nHost: ${fixture.previewHost}\r\nContent-Length: 5\r\n\r\nhello`;
    const raw = await sendRaw(
      fixture.port,
      `${post}GET / HTTP/1.1\r\nHost: ${fixture.previewHost}\r\nConnection: close\r\n\r\n`,
    );
    expect(statusesOf(raw)).toEqual([404, 404]);
  });

  test('sends only the head of the page to a HEAD', async () => {
    const fixture = await gateway(echo, { lookup: () => ({ kind: 'unknown' }) });
    const answer = await fetchRaw(fixture.port, fixture.previewHost, '/', {}, 'HEAD');
    expect([answer.status, answer.body]).toEqual([404, '']);
  });
});

describe('use of a preview', () => {
  test('is reported once a second at most, and only when the app was reached', async () => {
    let failing = true;
    const app = await startApp(echo);
    const fixture = await startGateway(app.port, {
      dial: async (target) => {
        if (failing) throw new PortholeError('nothing_listens', 'no');
        return dialLoopback(target);
      },
    });
    open.push(app, fixture);
    await fetchRaw(fixture.port, fixture.previewHost);
    expect(fixture.touched).toEqual([]);
    failing = false;
    for (let at = 0; at < 5; at += 1) await fetchRaw(fixture.port, fixture.previewHost);
    expect(fixture.touched).toEqual([
      { runId: 'run_1', sandboxId: 's1', targetPort: app.port, token: TOKEN },
    ]);
  });
});

test('counts a WebSocket while it is open', async () => {
  const app = await startApp(echo);
  const server = new WebSocketServer({ server: app.server });
  const fixture = await startGateway(app.port);
  open.push(app, fixture);
  const socket = new WebSocket(`ws://127.0.0.1:${fixture.port}/`, { headers: { Host: fixture.previewHost } });
  await once(socket, 'open');
  expect(fixture.upgrades()).toBe(1);
  const closed = once(socket, 'close');
  fixture.revoke();
  await closed;
  expect(fixture.upgrades()).toBe(0);
  server.close();
});
