import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server as TcpServer,
} from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createGuestKeys, deriveKeySet } from '#protocol/guest/key-set.ts';
import { JwksSchema } from '#protocol/settings/shared-values.ts';
import { createRemotePages } from '#adapters/browser/remote-pages.ts';
import {
  contentDigest,
  MAX_VISIT_BYTES,
  visitClaims,
  VISITS_PATH,
} from '#adapters/browser/visit-protocol.ts';
import { createVisitServer } from '#adapters/browser/visit-server.ts';
import { PortholeError } from '#base/errors.ts';
import type { PageBrowser, PageObservation, PageVisit } from '#core/pages/page-browser.ts';
import type { GuestTokenClaims } from '#protocol/guest/guest-pod.ts';
import { GUEST_KEYS, SIGNING_KEYS } from '#test/support/browser-server.ts';
import { OBSERVATION, VISIT } from './support/page-visits.ts';

const FOREIGN = {
  keys: [{ kty: 'oct' as const, kid: 'other', k: 'another-key-of-thirty-two-bytes-and-more-000' }],
};
const FOREIGN_KEYS = createGuestKeys(deriveKeySet(FOREIGN));

const open: (Server | TcpServer)[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

async function listen(server: Server | TcpServer): Promise<URL> {
  open.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

type Observe = PageBrowser['observe'];

/** A server of visits with a browser that answers like this. */
function serve(observe: Observe, now?: () => Date): Promise<URL> {
  const pages = { isInstalled: () => true, observe, close: () => Promise.resolve() };
  const server = createVisitServer({
    pages,
    publicKeys: GUEST_KEYS.publicKeys,
    failed: () => undefined,
    ...(now && { now }),
  });
  return listen(server);
}

const remote = (url: URL, reasons: string[] = []) =>
  createRemotePages({ url, keys: GUEST_KEYS, failed: (reason) => void reasons.push(reason) });

const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error as PortholeError,
  );

interface Sent {
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
}

/** One request as an attacker would make it. */
async function post(url: URL, { body = '', headers = {}, path = VISITS_PATH }: Sent) {
  const outgoing = request(new URL(path, url), { method: 'POST', agent: false, headers });
  outgoing.end(body);
  const [response] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
  return { status: response.statusCode, text: await text(response) };
}

const BODY = JSON.stringify({ owner: 'ada', visit: VISIT });
const DIGEST = contentDigest(Buffer.from(BODY));

function signed(claims: GuestTokenClaims, digest = DIGEST, keys = GUEST_KEYS) {
  return { authorization: `Bearer ${keys.sign(keys.publicKeys, claims)}`, 'content-digest': digest };
}

/** As a signed request with this body. */
const signedBody = (body: string) => {
  const digest = contentDigest(Buffer.from(body));
  return { body, headers: signed(visitClaims(digest), digest) };
};

describe('a server of visits', () => {
  const never: Observe = () => Promise.reject(new Error('visited'));

  test('gives the browser the visit and the caller what it saw', async () => {
    const asked: [PageVisit, string][] = [];
    const url = await serve((visit, owner) => {
      asked.push([visit, owner]);
      return Promise.resolve(OBSERVATION);
    });
    expect(await remote(url).observe(VISIT, 'ada')).toEqual(OBSERVATION);
    const check = { ...VISIT, waitFor: undefined, picture: undefined, previous: undefined, point: undefined };
    await remote(url).observe(check, 'ada');
    expect(asked).toEqual([
      [VISIT, 'ada'],
      [check, 'ada'],
    ]);
  });

  test.each([
    ['without a token', {}],
    ['with another scheme', { ...signed(visitClaims(DIGEST)), authorization: 'Basic YTpi' }],
    ['signed with a foreign key', signed(visitClaims(DIGEST), DIGEST, FOREIGN_KEYS)],
    ['for a guest', signed({ audience: 'a-pod', operation: visitClaims(DIGEST).operation })],
    ['for another operation', signed({ ...visitClaims(DIGEST), operation: `POST ${VISITS_PATH}` })],
    ['for another body', signed(visitClaims(contentDigest(Buffer.from('{}'))))],
    ['without a signature', { 'content-digest': DIGEST, authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' }],
    [
      'with a digest of another body',
      signed(visitClaims(contentDigest(Buffer.from('{}'))), contentDigest(Buffer.from('{}'))),
    ],
  ])('refuses a request %s', async (_what, headers) => {
    const { status, text: answer } = await post(await serve(never), { body: BODY, headers });
    expect([status, answer]).toEqual([401, expect.not.stringContaining('visited')]);
  });

  test('refuses a token that is too old', async () => {
    const url = await serve(never, () => new Date(Date.now() + 120_000));
    expect((await post(url, signedBody(BODY))).status).toBe(401);
  });

  test.each([
    ['no JSON', '{'],
    ['nothing', ''],
    ['no visit', '{}'],
    ['another scheme', JSON.stringify({ owner: 'ada', visit: { ...VISIT, origin: 'file:///' } })],
    [
      'an origin with a path',
      JSON.stringify({ owner: 'ada', visit: { ...VISIT, origin: 'http://a.test/b' } }),
    ],
    [
      'an origin with a user',
      JSON.stringify({ owner: 'ada', visit: { ...VISIT, origin: 'http://u@a.test' } }),
    ],
    ['an outward path', JSON.stringify({ owner: 'ada', visit: { ...VISIT, path: '@evil.test/' } })],
    [
      'a huge viewport',
      JSON.stringify({ owner: 'ada', visit: { ...VISIT, viewport: { ...VISIT.viewport, width: 1e6 } } }),
    ],
    [
      'endless steps',
      JSON.stringify({
        owner: 'ada',
        visit: { ...VISIT, steps: Array.from({ length: 101 }, () => ({ action: 'wait', milliseconds: 1 })) },
      }),
    ],
  ])('refuses a body with %s, and quotes nothing of it', async (_what, body) => {
    const answer = await post(await serve(never), signedBody(body));
    expect(answer).toEqual({ status: 400, text: '{"error":"The body is not a visit"}' });
  });

  test('refuses an oversized request by its length, before it arrives', async () => {
    const headers = { ...signed(visitClaims(DIGEST)), 'content-length': String(MAX_VISIT_BYTES + 1) };
    const outgoing = request(new URL(VISITS_PATH, await serve(never)), {
      method: 'POST',
      agent: false,
      headers,
    });
    outgoing.on('error', () => undefined).flushHeaders();
    const [response] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
    expect(response.statusCode).toBe(413);
    outgoing.destroy();
  });

  test('cuts an endless request', async () => {
    const headers = { ...signed(visitClaims(DIGEST)), 'transfer-encoding': 'chunked' };
    const outgoing = request(new URL(VISITS_PATH, await serve(never)), {
      method: 'POST',
      agent: false,
      headers,
    });
    const ended = new Promise((resolve) => outgoing.once('close', resolve));
    outgoing.on('error', () => undefined);
    let sent = 0;
    const more = (): void => {
      if (outgoing.destroyed) return;
      sent += 65_536;
      outgoing.write(Buffer.alloc(65_536), more);
    };
    more();
    await ended;
    // Both kernels buffer some bytes, too.
    expect(sent).toBeLessThan(MAX_VISIT_BYTES + 16 * 1_048_576);
  });

  test('has no other operation, and says that it lives without a token', async () => {
    const url = await serve(never);
    expect((await post(url, { ...signedBody(BODY), path: '/v1/other' })).status).toBe(404);
    const health = await fetch(new URL('/health', url));
    expect([health.status, await health.json()]).toEqual([200, { ok: true }]);
  });

  test('ends the visit when its caller goes away', async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const url = await serve(
      (_visit, _owner, signal) =>
        new Promise((_resolve, reject) => {
          if (signal === undefined) return;
          begun.resolve(signal);
          signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
        }),
    );
    const caller = new AbortController();
    const answer = errorOf(remote(url).observe(VISIT, 'ada', caller.signal));
    const signal = await begun.promise;
    const ended = once(signal, 'abort');
    caller.abort(new Error('gone'));
    await ended;
    expect((await answer)?.message).toBe('gone');
  });
});

describe('a caller of browser servers', () => {
  const refusal = (error: PortholeError | undefined) => [
    error?.code,
    error?.status,
    error?.retryAfterSeconds,
  ];

  test('passes on that too many wait, and when to try again', async () => {
    const url = await serve(() =>
      Promise.reject(new PortholeError('too_many_looks', '32 looks wait already')),
    );
    expect(refusal(await errorOf(remote(url).observe(VISIT, 'ada')))).toEqual(['too_many_looks', 429, 5]);
  });

  test('passes on that there is no browser', async () => {
    const url = await serve(() => Promise.reject(new PortholeError('browser_missing', 'No Chromium')));
    const error = await errorOf(remote(url).observe(VISIT, 'ada'));
    expect(refusal(error)).toEqual(['browser_missing', 501, undefined]);
  });

  test('says that no server answers, and when to try again', async () => {
    const server = createTcpServer();
    const url = await listen(server);
    server.close();
    await once(server, 'close');
    const reasons: string[] = [];
    const error = await errorOf(remote(url, reasons).observe(VISIT, 'ada'));
    expect(refusal(error)).toEqual(['browser_failed', 502, 5]);
    expect(reasons).toEqual([expect.stringContaining('ECONNREFUSED')]);
  });

  test('says the same when a server ends during a visit', async () => {
    const url = await listen(createTcpServer((socket) => socket.once('data', () => socket.destroy())));
    expect(refusal(await errorOf(remote(url).observe(VISIT, 'ada')))).toEqual(['browser_failed', 502, 5]);
  });

  const forged = (change: object) => JSON.stringify({ ...OBSERVATION, ...change } satisfies object);
  test.each([
    ['no JSON', '<html>'],
    ['nothing of an observation', '{}'],
    ['a text for a list', forged({ errors: 'x' })],
    ['a list past its bound', forged({ pending: Array(5_001).fill('x') })],
    ['a text past its bound', forged({ url: 'x'.repeat(300_000) })],
    ['a script for a picture', forged({ picture: { ...OBSERVATION.picture, base64: '<script>' } })],
    ['another kind of picture', forged({ picture: { ...OBSERVATION.picture, mediaType: 'image/svg+xml' } })],
    ['too much', forged({ url: 'x'.repeat(9 * 1_048_576) })],
  ])('rejects an answer with %s, and logs nothing of it', async (_what, body) => {
    const url = await listen(createServer((_request, response) => void response.end(body)));
    const reasons: string[] = [];
    const error = await errorOf(remote(url, reasons).observe(VISIT, 'ada'));
    expect(refusal(error)).toEqual(['browser_failed', 502, 5]);
    expect(reasons).toEqual([expect.not.stringMatching(/<|xxx/)]);
  });

  test('sends neither token nor page to the log', async () => {
    const url = await listen(createServer((_request, response) => void response.writeHead(500).end(BODY)));
    const reasons: string[] = [];
    await errorOf(remote(url, reasons).observe(VISIT, 'ada'));
    expect(reasons).toEqual(['It answered 500']);
  });

  test('signs with an earlier key for a server that does not know the new one', async () => {
    const rotated = createGuestKeys(
      deriveKeySet({ keys: [...FOREIGN.keys, ...JwksSchema.parse(JSON.parse(SIGNING_KEYS)).keys] }),
    );
    const url = await serve(() => Promise.resolve(OBSERVATION));
    const pages = createRemotePages({ url, keys: rotated, failed: () => undefined });
    expect(await pages.observe(VISIT, 'ada')).toEqual(OBSERVATION);
  });

  test('says that no server answers where none knows a key', async () => {
    const url = await serve(() => Promise.resolve(OBSERVATION));
    const pages = createRemotePages({ url, keys: FOREIGN_KEYS, failed: () => undefined });
    expect(refusal(await errorOf(pages.observe(VISIT, 'ada')))).toEqual(['browser_failed', 502, 5]);
  });

  test('does not keep a connection', async () => {
    const url = await serve(() => Promise.resolve(OBSERVATION));
    const [server] = open as [Server];
    await remote(url).observe(VISIT, 'ada');
    const closed = once(server, 'close');
    server.close();
    await closed;
  });

  test('drops fields that it does not know', async () => {
    const newer = forged({ later: 1 });
    const url = await listen(createServer((_request, response) => void response.end(newer)));
    const seen: PageObservation = await remote(url).observe(VISIT, 'ada');
    expect(seen).toEqual(OBSERVATION);
  });
});

test('a server of visits bounds headers, connections and the time of a request', async () => {
  const url = await serve(() => Promise.resolve(OBSERVATION));
  const [server] = open as [Server];
  expect([server.requestTimeout, server.headersTimeout, server.maxConnections]).toEqual([
    10_000, 10_000, 256,
  ]);
  const socket = connect(Number(url.port), '127.0.0.1');
  socket
    .on('error', () => undefined)
    .end('GET / HTTP/1.1\r\nHost: x\r\nX: ' + 'a'.repeat(10_000) + '\r\n\r\n');
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 431 /);
});
