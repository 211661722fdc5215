/** Who may open a preview that a guest serves: it verifies what the functions have signed. */
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { WebSocket, WebSocketServer } from 'ws';
import { createPreviewFallback } from '#adapters/kubernetes/previews/preview-fallback.ts';
import { OpenPreviews } from '#guest/preview/open-previews.ts';
import { createPreviewListener, type PreviewListener } from '#guest/preview/preview-listener.ts';
import { publicKeyText } from '#protocol/guest/guest-pod.ts';
import { type OpenPreviewRequest, PREVIEW_PORT_HEADER } from '#protocol/guest/previews-protocol.ts';
import { signTicket, TICKET_MS, type VisitTicket } from '#protocol/guest/visit-tickets.ts';
import { createStrictServer } from '#proxy/front/strict-server.ts';
import { dialLoopback, fetchRaw, listen, type Listener, startApp } from '#test/proxy/gateway-fixture.ts';

type Access = NonNullable<OpenPreviewRequest['access']>;

let folder: string;
let previews: OpenPreviews;
let listener: PreviewListener;
let app: Listener;
let front: Listener;
let host: string;
let key: KeyObject;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'guest-access-'));
  key = newKey();
  const started = await startApp((req, res) => void res.end(String(req.headers['x-porthole-viewer'])));
  const sockets = new WebSocketServer({ server: started.server });
  sockets.on('error', () => undefined);
  app = started;
  await startGuest();
});
afterEach(async () => {
  await stopGuest();
  await app.close();
  rmSync(folder, { recursive: true });
});

function newKey(): KeyObject {
  const { privateKey } = generateKeyPairSync('ed25519');
  return createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }));
}

async function startGuest(): Promise<void> {
  previews = new OpenPreviews(join(folder, 'previews.json'));
  previews.load();
  listener = createPreviewListener(previews, (port) => dialLoopback({ targetPort: port }));
  const routed = (req: IncomingMessage) => {
    req.headers[PREVIEW_PORT_HEADER.toLowerCase()] = String(app.port);
    return req;
  };
  front = await listen(
    createStrictServer({
      request: (req, res, expectsContinue) => listener.request(routed(req), res, expectsContinue),
      upgrade: (req, socket, head) => listener.upgrade(routed(req), socket, head),
    }),
  );
  // Its gateway has one port, whichever the guest's is.
  host = 'shop-preview.preview.test';
}

async function stopGuest(): Promise<void> {
  await listener.close(0);
  await front.close();
}

function open(change: Partial<Access> | undefined): void {
  previews.open(app.port, {
    host,
    run: 'run_1',
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    frame_ancestors: [],
    ...(change !== undefined && {
      access: {
        level: 'owner',
        epoch: 1,
        revoked: [],
        open_url: 'https://porthole.test/open',
        name: 'preview-0123456789abcdef0123',
        keys: [publicKeyText(key)],
        ...change,
      },
    }),
  });
  listener.limit(app.port, host);
}

function ticket(change: Partial<VisitTicket> = {}, by = key): string {
  return signTicket(by, 'enter', {
    host,
    id: randomUUID(),
    expiresAt: Date.now() + TICKET_MS,
    until: Date.now() + 3_600_000,
    epoch: 1,
    viewer: 'alice',
    level: 'owner',
    ...change,
  });
}

async function enter(text: string): Promise<string | undefined> {
  const body = new URLSearchParams({ ticket: text, path: '/' }).toString();
  const headers = { 'Content-Length': String(body.length) };
  const answer = await fetchRaw(front.port, host, '/.porthole/enter', headers, 'POST', body);
  return answer.headers['set-cookie']?.split(';', 1)[0];
}

const status = async (cookie = ''): Promise<number> =>
  (await fetchRaw(front.port, host, '/', { Cookie: cookie })).status;

async function connect(cookie: string): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${front.port}/`, { headers: { host, cookie } });
  await once(socket, 'open');
  return socket;
}

test('lets a visitor with a ticket of the functions pass, and no one else', async () => {
  open({});
  expect(await status()).toBe(401);
  const { headers } = await fetchRaw(front.port, host, '/a', { Accept: 'text/html' });
  expect(headers['location']).toBe(
    'https://porthole.test/open?preview=preview-0123456789abcdef0123#path=%2Fa',
  );
  expect(await enter(ticket({}, newKey()))).toBeUndefined();
  expect(await enter(ticket({ host: 'other-preview.preview.test' }))).toBeUndefined();
  const cookie = await enter(ticket());
  expect(await status(cookie)).toBe(200);
});

test('accepts tickets of every key that it was given', async () => {
  const next = newKey();
  open({ keys: [publicKeyText(next), publicKeyText(key)] });
  expect(await enter(ticket())).toBeDefined();
  expect(await enter(ticket({}, next))).toBeDefined();
});

test('ends the sockets of a revoked link within a second, and those of a new epoch', async () => {
  open({});
  const [byLink = '', byName = ''] = [await enter(ticket({ link: 'lnk_1' })), await enter(ticket())];
  const [linked, named] = [await connect(byLink), await connect(byName)];
  const began = performance.now();
  open({ revoked: ['lnk_1'] });
  await once(linked, 'close');
  expect(performance.now() - began).toBeLessThan(1_000);
  expect(await status(byLink)).toBe(401);
  expect(await enter(ticket({ link: 'lnk_1' }))).toBeUndefined();
  expect([await status(byName), named.readyState]).toEqual([200, WebSocket.OPEN]);
  open({ epoch: 2 });
  await once(named, 'close');
  expect(await status(byName)).toBe(401);
});

test('ends the connections of everyone when an open preview is limited', async () => {
  open(undefined);
  const socket = await connect('');
  open({});
  await once(socket, 'close');
  expect(await status()).toBe(401);
});

test('ends a socket when its visit is over', async () => {
  open({});
  // Ends are in whole seconds: the socket opens within at least three.
  const socket = await connect((await enter(ticket({ until: Date.now() + 4_000 }))) ?? '');
  const [code] = (await once(socket, 'close')) as [number];
  expect(code).toBe(1006);
});

test('keeps what was decided last, in whichever order it arrives', async () => {
  open({ epoch: 2, revoked: ['lnk_1'] });
  for (const late of [undefined, { level: 'link' }, { epoch: 2, revoked: [], level: 'link' }]) open(late);
  expect(await status()).toBe(401);
  expect(previews.answer().previews[0]?.access_epoch).toBe(2);
  open({ epoch: 3, level: 'link' });
  expect(await status()).toBe(200);
});

test('keeps that pages map localhost when the access changes, and over a restart', async () => {
  const request = { host, run: 'run_1', expires_at: new Date(Date.now() + 60_000).toISOString() };
  previews.open(app.port, { ...request, frame_ancestors: [], maps_localhost: true });
  open({});
  await stopGuest();
  await startGuest();
  expect(previews.find(host)?.request.maps_localhost).toBe(true);
});

test('asks visitors to enter again after a restart, and stays limited', async () => {
  open({});
  const cookie = await enter(ticket());
  expect(await status(cookie)).toBe(200);
  await stopGuest();
  await startGuest();
  expect(await status(cookie)).toBe(401);
  expect(await status(await enter(ticket()))).toBe(200);
});

const NAMED = 'shop-demo-preview.preview.test';
const FREE = 'shop-domo-preview.preview.test';

test('lets in at a host by name by the same tickets, and by no other', async () => {
  open({ named_host: NAMED });
  const enterAt = async (at: string, text: string) => {
    const body = new URLSearchParams({ ticket: text, path: '/' }).toString();
    const headers = { 'Content-Length': String(body.length) };
    const answer = await fetchRaw(front.port, at, '/.porthole/enter', headers, 'POST', body);
    return answer.headers['set-cookie']?.split(';', 1)[0];
  };
  expect(await enterAt(NAMED, ticket({ host: NAMED }))).toBeUndefined();
  const cookie = (await enterAt(NAMED, ticket())) ?? '';
  const status = async (at: string) => (await fetchRaw(front.port, at, '/', { Cookie: cookie })).status;
  expect([await status(NAMED), await status(host), await status(FREE)]).toEqual([200, 200, 404]);
  const { headers } = await fetchRaw(front.port, NAMED, '/a', { Accept: 'text/html' });
  expect(headers['location']).toBe(`https://porthole.test/open?preview=${NAMED}#path=%2Fa`);
  // A change of the access ends the visit, and the level link the name.
  open({ named_host: NAMED, epoch: 2 });
  expect(await status(NAMED)).toBe(401);
  open({ named_host: NAMED, epoch: 3, level: 'link' });
  expect([await status(NAMED), await status(host)]).toEqual([404, 200]);
});

test('answers strangers at a name as the functions do for a name without a preview', async () => {
  open({ named_host: NAMED });
  const fallback = createPreviewFallback({
    plane: { find: () => Promise.reject(new Error('a name needs no look-up')) },
    records: { tombstone: () => Promise.reject(new Error('a name needs no look-up')) },
    asleep: () => Promise.reject(new Error('a name needs no look-up')),
    accessOf: async () => ({ level: 'link', epoch: 0, revoked: [] }),
    openPage: 'https://porthole.test/open',
    log: { warn: () => undefined },
  });
  const functions = await listen(
    createStrictServer({
      request: (req, res, expectsContinue) =>
        fallback.handleRequest(req, res, req.headers.host ?? '', expectsContinue),
      upgrade: (req, socket, head) => fallback.handleUpgrade(req, socket, head, req.headers.host ?? ''),
    }),
  );
  const ask = async (port: number, at: string, [method, path, headers]: (typeof REQUESTS)[number]) => {
    const answer = await fetchRaw(port, at, path, headers, method);
    const { date: _date, ...rest } = answer.headers;
    const text = JSON.stringify([answer.status, rest, answer.body]);
    return text.replaceAll(at, 'HOST');
  };
  for (const asked of REQUESTS) {
    expect(await ask(functions.port, FREE, asked)).toBe(await ask(front.port, NAMED, asked));
  }
  await fallback.close();
  await functions.close();
});

const REQUESTS: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
  ['GET', '/', { Accept: 'text/html' }],
  ['GET', '/a?b=c', { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }],
  ['GET', '/', { 'Sec-Fetch-Mode': 'cors', Cookie: '__Host-porthole-view=x' }],
  ['GET', '/', { 'X-Porthole-Pass': 'x' }],
  ['HEAD', '/', {}],
  ['POST', '/', { 'Content-Length': '0' }],
  ['POST', '/.porthole/enter', { 'Content-Length': '0' }],
  ['GET', '/.porthole/localhost.js', {}],
  ['GET', '/.porthole/report', {}],
  ['GET', '/.porthole/3000/', {}],
  ['OPTIONS', '/', { Origin: 'https://other-preview.preview.test', 'Access-Control-Request-Method': 'PUT' }],
  [
    'GET',
    '/live',
    {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    },
  ],
];
