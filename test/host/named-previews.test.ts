/** Previews at a host with a name, asked of a real host. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { reapPreviews } from '#core/previews/reap-previews.ts';
import { callBy } from '#test/support/in-process-host.ts';
import { ACCESS_MATRIX, ALL_ANSWER, ALL_REFUSED, CALLERS } from './support/access-matrix.ts';
import { ALICE, BOB, CAROL } from './support/people.ts';
import { PreviewVisitors } from './support/preview-visitors.ts';
import { makeRun, startPreview } from './support/runs.ts';

const PORT = 3420;
const OTHER_PORT = 3421;
let v: PreviewVisitors;
beforeAll(async () => {
  v = await PreviewVisitors.start(PORT);
  v.name = 'shop-demo';
});
afterAll(() => v.porthole.end());
beforeEach(() => v.setLevel('owner', { name: 'shop-demo' }));

const access = async () => (await v.api('GET', '/access')).json();
const put = (body: object, token?: string) => v.api('PUT', '/access', body, token);

describe('each level below link', () => {
  test.each(ACCESS_MATRIX)('%s lets %s enter at the name: %s', async (level, caller, enters) => {
    await v.setLevel(level, level === 'password' ? { password: 'open sesame' } : {});
    const key = CALLERS[caller];
    // What a visitor without a password needs would tell that the name exists.
    const needs = key === undefined ? [200, { needs: 'sign_in' }] : [403, expect.anything()];
    const { status, entry } = await v.open(key);
    if (enters === true) expect(entry.url).toBe(`http://${v.host}`);
    else expect([status, entry]).toEqual(needs);
    expect(await v.statuses()).toEqual(ALL_REFUSED);
    if (enters !== true && enters !== 'password') return;
    const cookie = await v.enter(key, enters === 'password' ? { password: 'open sesame' } : {});
    expect(await v.statuses(cookie)).toEqual(ALL_ANSWER);
    const { text } = await v.get('/', { cookie });
    expect(JSON.parse(text)).toMatchObject({ headers: { 'x-forwarded-host': v.host } });
  });
});

test('says its name and its URL to its owner alone', async () => {
  const own = { level: 'owner', maximum: 'link', name: 'shop-demo', url: `http://${v.host}` };
  expect(await access()).toEqual(own);
  expect((await v.api('GET', '/access', undefined, BOB)).status).toBe(404);
  // A change of the level leaves the name as it is.
  expect((await put({ level: 'org' })).json()).toEqual({ ...own, level: 'org' });
});

test('gives strangers the same answers for a name that no preview has', async () => {
  const hosts = [v.host, v.host.replace('shop-demo', 'shop-domo')];
  const ask = async (host: string, method: string, path: string, headers: Record<string, string>) => {
    const {
      status,
      headers: got,
      text,
    } = await callBy(v.connect, method, path, {
      host,
      headers: { ...headers, origin: `http://other-preview.localhost:${v.porthole.host.port}` },
    });
    const { date: _date, ...rest } = got;
    return JSON.parse(
      JSON.stringify({ status, rest, text })
        .replaceAll(host, 'HOST')
        .replaceAll(host.split(':')[0] ?? '', 'HOST'),
    ) as unknown;
  };
  const navigation = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  for (const level of ['owner', 'password']) {
    await v.setLevel(level, level === 'password' ? { password: 'open sesame' } : {});
    for (const [method, path, headers] of [
      ['GET', '/', navigation],
      ['GET', '/a?b=c', { accept: 'text/html' }],
      ['GET', '/', {}],
      ['HEAD', '/', {}],
      ['POST', '/', {}],
      ['OPTIONS', '/', { 'access-control-request-method': 'PUT' }],
      ['GET', '/', { cookie: '__Host-porthole-view=x', 'x-porthole-pass': 'x' }],
      ['GET', '/.porthole/enter', {}],
      ['POST', '/.porthole/enter', { 'content-type': 'application/x-www-form-urlencoded' }],
      ['GET', '/.porthole/localhost.js', {}],
      ['GET', '/.porthole/report', {}],
      ['GET', '/.porthole/3000/', {}],
    ] as const) {
      const [known, unknown] = await Promise.all(hosts.map((host) => ask(host, method, path, headers)));
      expect([method, path, unknown]).toEqual([method, path, known]);
    }
    for (const key of [undefined, BOB]) {
      for (const more of [
        {},
        { wake: 'opened' },
        { password: 'close sesame' },
        { link: 'lnk_x', secret: 'y' },
      ]) {
        const [known, unknown] = await Promise.all(
          hosts.map((host) => v.open(key, { preview: host.split(':')[0], ...more })),
        );
        const seen = [known, unknown].map((each) => [each?.status, { ...each?.entry, request_id: '' }]);
        expect([key, more, seen[1]]).toEqual([key, more, seen[0]]);
      }
    }
  }
});

test('has no name at the level link, and gets it back below', async () => {
  const refused = await put({ level: 'link', name: 'shop-demo' });
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('stricter level')]);
  const cookie = await v.enter(ALICE);
  expect(await v.seen({ cookie })).toBe(true);
  await v.setLevel('link');
  expect(await access()).toMatchObject({ level: 'link', name: 'shop-demo', url: null });
  expect(await v.statuses(cookie)).toEqual(ALL_REFUSED);
  expect((await v.open(BOB)).status).toBe(403);
  // Its owner is sent to where it is.
  expect((await v.open(ALICE)).entry).toEqual({ url: v.preview.preview_url });
  await v.setLevel('org');
  expect(await v.seen({ cookie: await v.enter(CAROL) })).toBe(true);
});

test('ends the visits, with open streams, of a name that is given back', async () => {
  const cookie = await v.enter(ALICE);
  const stream = v.connect({ path: '/events', headers: { host: v.host, cookie }, agent: false });
  stream.end();
  const [response] = (await once(stream, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  response
    .on('error', () => undefined)
    .once('close', end)
    .resume();
  await put({ level: 'owner', name: null });
  await ended;
  expect(await access()).toMatchObject({ name: null, url: null });
  expect(await v.statuses(cookie)).toEqual(ALL_REFUSED);
  expect((await v.open(ALICE)).status).toBe(403);
});

test('is valid for one preview: no ticket, pass or cookie lets in at the name of the next', async () => {
  const run = await makeRun(v.porthole, ALICE);
  const other = await startPreview(v.porthole, run.runId, OTHER_PORT, ALICE);
  const path = `/v1/previews/${other.session_id}/access`;
  const { entry } = await v.open(ALICE);
  const cookie = await v.enter(ALICE);
  const { pass } = (await v.api('POST', '/pass')).json<{ pass: string }>();
  expect(await v.seen({ 'x-porthole-pass': pass })).toBe(true);
  expect(
    (await v.porthole.call('PUT', path, { token: ALICE, body: { level: 'owner', name: 'shop-demo' } }))
      .status,
  ).toBe(409);
  await put({ level: 'owner', name: null });
  const named = await v.porthole.call('PUT', path, {
    token: ALICE,
    body: { level: 'owner', name: 'shop-demo' },
  });
  expect(named.status).toBe(200);
  expect((await v.post(entry.ticket ?? '')).status).toBe(403);
  expect((await v.get('/', { cookie })).status).toBe(401);
  expect((await v.get('/', { 'x-porthole-pass': pass })).status).toBe(401);
  await v.porthole.call('PUT', path, { token: ALICE, body: { level: 'owner', name: null } });
});

test('is refused without telling who has it', async () => {
  const run = await makeRun(v.porthole, BOB);
  const preview = await startPreview(v.porthole, run.runId, OTHER_PORT, BOB);
  const call = (body: object) =>
    v.porthole.call('PUT', `/v1/previews/${preview.session_id}/access`, { token: BOB, body });
  const taken = await call({ level: 'owner', name: 'shop-demo' });
  expect([taken.status, taken.json<{ error: string }>().error]).toEqual([
    409,
    'name: shop-demo is taken: choose another name.',
  ]);
  const refused = await call({ level: 'owner', name: 'my-login' });
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('choose another name')]);
});

test('lets in by a link, which leads to the name', async () => {
  const { id, url } = (await v.api('POST', '/links', { label: 'for dave' })).json<{
    id: string;
    url: string;
  }>();
  const preview = new URL(url).searchParams.get('preview') ?? '';
  const secret = url.slice(url.lastIndexOf('.') + 1);
  const held = { link: id, secret };
  expect((await v.open(undefined, { preview, ...held })).entry.url).toBe(`http://${v.host}`);
  const cookie = await v.enter(undefined, held);
  expect(await v.seen({ cookie })).toBe(true);
  await v.api('DELETE', `/links/${id}`);
  expect(await v.statuses(cookie)).toEqual(ALL_REFUSED);
  expect((await v.open(undefined, held)).status).toBe(403);
  expect(await access()).toMatchObject({ name: 'shop-demo' });
});

test('starts its sandbox for an invited visitor, and has the same URL then', async () => {
  await v.setLevel('org');
  await v.porthole.call('POST', `/v1/sandbox/${v.run.sandboxId}/stop`, { token: ALICE });
  const { services } = v.porthole.host;
  await reapPreviews({ ...services, clock: { now: () => new Date(Date.now() + 3_600_000) } });
  expect(await services.plane.find(v.preview.session_id)).toBeUndefined();
  expect(await access()).toMatchObject({ name: 'shop-demo', url: `http://${v.host}` });
  expect((await v.open(BOB, { wake: 'opened' })).status).toBe(403);
  expect((await v.open(undefined, { wake: 'opened' })).entry).toEqual({ needs: 'sign_in' });
  expect(await v.statuses()).toEqual(ALL_REFUSED);
  expect((await services.sandboxes.inspect(v.run.sandboxId)).state).toBe('stopped');
  const woken = await v.enter(CAROL, { wake: 'opened' });
  expect(await v.seen({ cookie: woken })).toBe(true);
});

test('is free for its owner once its sandbox is deleted', async () => {
  const run = await makeRun(v.porthole, ALICE);
  const preview = await startPreview(v.porthole, run.runId, OTHER_PORT, ALICE);
  const body = { level: 'owner', name: 'short-lived' };
  const path = `/v1/previews/${preview.session_id}/access`;
  expect((await v.porthole.call('PUT', path, { token: ALICE, body })).status).toBe(200);
  expect((await put(body)).status).toBe(409);
  expect(
    (await v.porthole.call('DELETE', `/v1/sandbox/${run.sandboxId}`, { token: ALICE })).status,
  ).toBeLessThan(300);
  await reapPreviews(v.porthole.host.services);
  expect((await put(body)).json()).toMatchObject({ name: 'short-lived' });
});
