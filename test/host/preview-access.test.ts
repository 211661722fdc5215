/** Who may open a preview, asked of a real host: levels, tickets and what the app learns. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { PASS_MS, signTicket, TICKET_MS, type VisitTicket } from '#protocol/guest/visit-tickets.ts';
import { ACCESS_MATRIX, ALL_ANSWER, ALL_REFUSED, CALLERS } from './support/access-matrix.ts';
import { ALICE, BOB } from './support/people.ts';
import { PreviewVisitors } from './support/preview-visitors.ts';
import { startPreview } from './support/runs.ts';

const PORT = 3410;
let v: PreviewVisitors;
beforeAll(async () => {
  v = await PreviewVisitors.start(PORT);
});
afterAll(() => v.porthole.end());
beforeEach(() => v.setLevel('owner'));

describe('each level', () => {
  test.each(ACCESS_MATRIX)('%s lets %s enter: %s', async (level, caller, enters) => {
    await v.setLevel(level, level === 'password' ? { password: 'open sesame' } : {});
    const key = CALLERS[caller];
    const { status, entry } = await v.open(key);
    if (enters === false) expect([status, entry.ticket]).toEqual([403, undefined]);
    else if (enters !== true) expect(entry).toEqual({ needs: enters });
    if (enters === 'password') {
      expect((await v.open(key, { password: 'close sesame' })).status).toBe(403);
    }
    expect(await v.statuses()).toEqual(ALL_REFUSED);
    if (enters === true || enters === 'password') {
      const cookie = await v.enter(key, enters === 'password' ? { password: 'open sesame' } : {});
      expect(await v.statuses(cookie)).toEqual(ALL_ANSWER);
    }
  });

  test('link needs nothing, and does not exchange the name of a preview for its URL', async () => {
    const location = String((await v.get('/', { accept: 'text/html' })).headers.location);
    const name = new URL(location).searchParams.get('preview') ?? '';
    expect(location).not.toContain(v.preview.session_id);
    await v.setLevel('link');
    expect(await v.seen({})).toBe(true);
    expect((await v.open()).entry).toEqual({ url: v.preview.preview_url });
    expect((await v.open(undefined, { preview: name })).status).toBe(403);
    expect((await v.open(BOB, { preview: name })).status).toBe(403);
    expect((await v.open(ALICE, { preview: name })).entry).toEqual({ url: v.preview.preview_url });
  });

  test('is kept for the next preview of the port', async () => {
    await v.setLevel('org');
    const path = `/api/runs/${v.run.runId}/sandbox/port-forward`;
    await v.porthole.call('DELETE', `${path}/${v.preview.session_id}`, { token: ALICE });
    v.preview = await startPreview(v.porthole, v.run.runId, PORT, ALICE);
    expect(await v.seen({})).toBe(false);
    expect((await v.api('GET', '/access')).json()).toMatchObject({ level: 'org', maximum: 'link' });
  });
});

describe('the entrance', () => {
  test.each(['//evil.test/', '/\\evil.test', 'https://evil.test/', '/\t/evil.test', '/.porthole/enter', ''])(
    'leads from %j to the start page of the preview',
    async (path) => {
      const { entry } = await v.open(ALICE);
      const answer = await v.post(entry.ticket ?? '', path);
      expect([answer.status, answer.headers.location]).toEqual([303, '/']);
    },
  );

  test('is accepted from the pages of Porthole only (login CSRF)', async () => {
    const { ticket = '' } = (await v.open(ALICE)).entry;
    for (const origin of ['null', `http://${v.host}`, 'http://mallory-preview.localhost']) {
      expect((await v.post(ticket, '/', v.host, { origin })).status).toBe(403);
    }
    expect((await v.post(ticket, '/', v.host, { origin: v.porthole.host.url })).status).toBe(303);
  });

  test('is brought by a page without an opener, which has an origin', async () => {
    expect((await v.porthole.call('GET', '/open?preview=x')).headers).toMatchObject({
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'strict-origin',
    });
  });

  test('leads to the path that was requested, and is kept by no cache and no referrer', async () => {
    const { entry } = await v.open(ALICE);
    const { headers } = await v.post(entry.ticket ?? '', '/a?b=c');
    expect(headers).toMatchObject({
      location: '/a?b=c',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
  });

  test('answers forms that are too large, or no forms, like tickets that are not valid', async () => {
    expect((await v.post('x'.repeat(20_000))).status).toBe(403);
    expect((await v.post('')).status).toBe(403);
    expect((await v.get('/.porthole/enter')).status).toBe(403);
    expect((await v.get('/.porthole/enter?ticket=x')).headers['x-porthole-status']).toBe('bad_ticket');
  });

  test('is refused after ten seconds if its form does not end', async () => {
    const { port } = v.porthole.host;
    const outgoing = request({ port, host: '127.0.0.1', method: 'POST', path: '/.porthole/enter' });
    outgoing.setHeader('host', v.host).setHeader('content-length', '100');
    outgoing.on('error', () => undefined).write('ticket=');
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    outgoing.destroy();
    expect(answer.statusCode).toBe(403);
  }, 15_000);

  test('accepts none of 2,000 forged, foreign and used tickets, and answers all alike', async () => {
    const { privateKey: foreign } = generateKeyPairSync('ed25519');
    const now = Date.now();
    const claims = (change: Partial<VisitTicket> = {}): VisitTicket => ({
      host: v.host,
      id: randomUUID(),
      expiresAt: now + TICKET_MS,
      until: now + PASS_MS,
      epoch: 1_000,
      viewer: 'alice',
      level: 'owner',
      ...change,
    });
    const { entry } = await v.open(ALICE);
    const used = entry.ticket ?? '';
    expect((await v.post(used)).status).toBe(303);
    const pass = (await v.api('POST', '/pass')).json<{ pass: string }>().pass;
    const { ticket: old = '' } = (await v.open(ALICE)).entry;
    await v.setLevel('owner');
    const { ticket: fresh = '' } = (await v.open(ALICE)).entry;
    const [header = '', payload = '', signature = ''] = fresh.split('.');
    const body = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { about: string; epoch: number };
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const kinds: ((at: number) => string)[] = [
      () => used,
      () => old,
      () => pass,
      () => body.about,
      (at) => signTicket(foreign, 'enter', claims({ epoch: body.epoch, id: `forged-${at}` })),
      (at) => `${header}.${encode({ ...body, jti: `other-${at}` })}.${signature}`,
      (at) => `${encode({ alg: 'none', typ: 'porthole-ticket+jwt' })}.${encode({ ...body, jti: `n${at}` })}.`,
      (at) =>
        `${encode({ alg: 'HS256', typ: 'porthole-ticket+jwt' })}.${payload}.${signature.slice(0, 20 + (at % 60))}`,
      (at) =>
        `${fresh.slice(0, at % fresh.length)}${fresh[at % fresh.length] === 'A' ? 'B' : 'A'}${fresh.slice((at % fresh.length) + 1)}`,
      (at) => fresh.slice(0, at % fresh.length),
    ];
    const answers = new Map<string, number>();
    for (let from = 0; from < 2_000; from += 50) {
      await Promise.all(
        Array.from({ length: 50 }, async (_, offset) => {
          const at = from + offset;
          const forged = kinds[at % kinds.length]?.(at) ?? '';
          const { status, headers, text } = await v.post(forged);
          const answer = JSON.stringify([status, headers['set-cookie'], text]);
          answers.set(answer, (answers.get(answer) ?? 0) + 1);
        }),
      );
    }
    expect([...answers.values()]).toEqual([2_000]);
    expect([...answers.keys()][0]).toMatch(/^\[403,null,/);
    // The base of the forged ones is still valid, once.
    expect((await v.post(fresh)).status).toBe(303);
    expect((await v.post(fresh)).status).toBe(403);
  }, 60_000);

  test('accepts a ticket of another preview at that preview only', async () => {
    const other = await startPreview(v.porthole, v.run.runId, PORT + 10, ALICE);
    const path = `/v1/previews/${other.session_id}/access`;
    await v.porthole.call('PUT', path, { token: ALICE, body: { level: 'owner' } });
    const otherHost = new URL(other.preview_url ?? '').host;
    const { ticket = '' } = (await v.open(ALICE)).entry;
    expect((await v.post(ticket, '/', otherHost)).status).toBe(403);
    expect((await v.post(ticket)).status).toBe(303);
    const cookie = await v.enter(ALICE);
    const { headers } = await v.porthole.call('GET', '/', { host: otherHost, headers: { cookie } });
    expect(headers['x-porthole-status']).toBe('access_required');
  });
});

describe('the app', () => {
  test('learns who visits, and nothing that lets others enter', async () => {
    const cookie = await v.enter(ALICE);
    const { headers, text } = await v.get('/', {
      cookie: `mine=1; ${cookie}`,
      'x-porthole-viewer': 'said by the visitor',
      X_Porthole_Viewer: 'said by the visitor',
      'x-porthole-pass': 'x',
    });
    const got = (JSON.parse(text) as { headers: Record<string, string> }).headers;
    expect(got['cookie']).toBe('mine=1');
    expect(Object.keys(got).filter((name) => /porthole/i.test(name))).toEqual(['x-porthole-viewer']);
    const [, payload = ''] = (got['x-porthole-viewer'] ?? '').split('.');
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toEqual({
      aud: v.host,
      sub: 'alice',
      level: 'owner',
      exp: expect.any(Number),
    });
    expect((await v.post(got['x-porthole-viewer'] ?? '')).status).toBe(403);
    expect((await v.get('/', { 'x-porthole-pass': got['x-porthole-viewer'] ?? '' })).status).toBe(401);
    expect(headers['set-cookie']).toEqual(['app=1']);
    expect(headers['x-porthole-viewer']).toBeUndefined();
  });

  test('is used by no page of another site, or of another preview', async () => {
    const cookie = await v.enter(ALICE);
    const foreign = { cookie, origin: 'http://mallory-preview.localhost' };
    for (const site of ['same-site', 'cross-site']) {
      const image = { cookie, 'sec-fetch-mode': 'no-cors', 'sec-fetch-site': site };
      for (const headers of [image, { ...foreign, 'sec-fetch-site': site }]) {
        const { status, headers: sent } = await v.get('/', headers);
        expect([status, sent['x-porthole-status']]).toEqual([403, 'foreign_origin']);
      }
      const link = { cookie, 'sec-fetch-mode': 'navigate', 'sec-fetch-site': site };
      expect((await v.get('/', link)).status).toBe(200);
    }
    // At the level link there is no visit to protect, and the app itself answers other sites.
    await v.setLevel('link');
    expect(await v.seen(foreign)).toBe(true);
  });

  test('is shown in no frame but the console’s, and at the level link in any', async () => {
    const policies = async (headers: Readonly<Record<string, string>> = {}) =>
      (await v.get('/', headers)).headers['content-security-policy'];
    const policy = await policies({ cookie: await v.enter(ALICE) });
    expect(policy).toContain(`frame-ancestors 'self' `);
    expect(policy).toContain(v.porthole.host.url);
    await v.setLevel('link');
    expect(await policies()).toBeUndefined();
  });

  test('is kept by no shared cache', async () => {
    const cookie = await v.enter(ALICE);
    expect((await v.get('/cached', { cookie })).headers['cache-control']).toBe('private, max-age=60');
    expect((await v.get('/', { cookie })).headers['cache-control']).toBe('private');
    await v.setLevel('link');
    expect((await v.get('/cached')).headers['cache-control']).toBe('public, max-age=60, s-maxage=600');
  });

  test('is reached by a program with a pass', async () => {
    const { pass } = (await v.api('POST', '/pass')).json<{ pass: string }>();
    v.secrets.push(pass);
    expect(await v.seen({ 'x-porthole-pass': pass })).toBe(true);
    await v.setLevel('owner');
    expect(await v.seen({ 'x-porthole-pass': pass })).toBe(false);
    await v.setLevel('link');
    expect((await v.api('POST', '/pass')).json()).toEqual({ pass: null });
    expect((await v.api('POST', '/pass', undefined, BOB)).status).toBe(404);
  });

  test('answers requests without a visit with a page that the app cannot change', async () => {
    const answer = await v.get('/');
    expect([answer.status, answer.headers['x-porthole-status']]).toEqual([401, 'access_required']);
    const frame = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' };
    expect((await v.get('/', frame)).status).toBe(401);
    const away = await v.get('/', { accept: 'text/html' });
    expect([away.status, away.headers['cache-control']]).toEqual([303, 'no-store']);
  });
});

test('logs no ticket, no cookie, no pass and no secret', () => {
  expect(v.secrets.length).toBeGreaterThan(20);
  const log = v.porthole.logged.join('\n');
  expect(v.secrets.filter((secret) => log.includes(secret))).toEqual([]);
});
