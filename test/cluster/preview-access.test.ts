/**
 * Who may open a preview of a pod, through the cluster's gateway: every level, caller and kind of
 * request; and how soon a revocation by any of three hosts ends open connections.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request, type RequestOptions } from 'node:https';
import type { LookupFunction } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { ACCESS_MATRIX, ALL_ANSWER, ALL_REFUSED, CALLERS } from '#test/host/support/access-matrix.ts';
import { ALICE, BOB, CAROL, PEOPLE } from '#test/host/support/people.ts';
import { PreviewVisitors } from '#test/host/support/preview-visitors.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '#test/support/postgres.ts';
import { type Answer, callBy } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { cluster, missing } from './fixture/cluster.ts';
import { type ClusterHost, openOnPods } from './hosts/cluster-hosts.ts';

const HOSTS = 3;
const REVOCATIONS = 100;

suite('access to previews of pods', missing() ?? postgresMissing, () => {
  let database: TestPostgres;
  let opened: ClusterHost;
  let v: PreviewVisitors;
  let toGateway: RequestOptions;

  beforeAll(async () => {
    database = await startPostgres();
    opened = await openOnPods({
      hosts: HOSTS,
      environment: {
        ...PEOPLE,
        DATABASE_URL: database.url,
        PORTHOLE_PUBLIC_URL: 'https://porthole.test',
        Sandbox__Preview__Upstream: 'guest',
      },
    });
    const { gateway } = await cluster();
    const lookup: LookupFunction = (_hostname, { all }, found) => {
      if (all === true) found(null, [{ address: gateway.https.host, family: 4 }]);
      else found(null, gateway.https.host, 4);
    };
    toGateway = { ca: readFileSync(gateway.caFile), lookup };
    v = await PreviewVisitors.start(3410, opened.porthole, (options) => {
      const { hostname, port } = new URL(v.preview.preview_url ?? '');
      return request({ ...toGateway, hostname, port, ...options });
    });
  }, 300_000);
  afterAll(async () => {
    await opened?.end();
    await database?.stop();
  }, 120_000);

  test.each(ACCESS_MATRIX)(
    '%s lets %s enter: %s',
    async (level, caller, enters) => {
      const password = level === 'password' ? { password: 'open sesame' } : {};
      await v.setLevel(level, password);
      const key = CALLERS[caller];
      const { status, entry } = await v.open(key);
      if (enters === false) expect([status, entry.ticket]).toEqual([403, undefined]);
      else if (enters !== true) expect(entry).toEqual({ needs: enters });
      expect(await v.statuses()).toEqual(ALL_REFUSED);
      if (enters === true || enters === 'password') {
        expect(await v.statuses(await v.enter(key, enters === 'password' ? password : {}))).toEqual(
          ALL_ANSWER,
        );
      }
    },
    60_000,
  );

  test('lets the same people in at its name, through the second host of its route', async () => {
    const { session_id: token, preview_url: url } = v.preview;
    const name = `shop-${randomBytes(4).toString('hex')}`;
    await v.setLevel('org', { name });
    v.name = name;
    try {
      // The gateway learns of the host a moment later; until then it answers 404 by itself.
      await eventually(async () => expect(await v.statuses()).toEqual(ALL_REFUSED));
      expect((await v.open(BOB)).status).toBe(403);
      const { entry } = await v.open(CAROL);
      expect(entry.url).toBe(url?.replace(token, name));
      const cookie = await v.enter(CAROL);
      expect(await v.statuses(cookie)).toEqual(ALL_ANSWER);
      // As the functions answer for a name that no preview has.
      const free = v.host.replace(name, 'shop-free');
      for (const [method, path, headers] of STRANGERS) {
        const [live, none] = await Promise.all([
          callBy(v.connect, method, path, { host: v.host, headers }),
          opened.porthole.call(method, path, { host: free, headers }),
        ]);
        expect([method, path, seen(none, free)]).toEqual([method, path, seen(live, v.host)]);
      }
      const socket = new WebSocket(`wss://${v.host}/live`, { ...toGateway, headers: { cookie } });
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
      const closed = new Promise((resolve) => socket.once('close', resolve).once('error', () => undefined));
      await v.setLevel('org', { name: null });
      await closed;
      await eventually(async () => expect((await v.get('/', { cookie })).status).toBe(404));
    } finally {
      delete v.name;
    }
    expect(await v.statuses(await v.enter(CAROL))).toEqual(ALL_ANSWER);
  }, 120_000);

  test(`ends the sockets of a link within a second of its revocation by any of ${HOSTS} hosts`, async () => {
    await v.setLevel('owner');
    const hosts = [opened.porthole, ...opened.replicas];
    const path = `/v1/previews/${v.preview.session_id}/links`;
    const address = new URL('/live', v.preview.preview_url ?? '').href.replace('http', 'ws');
    const took: number[] = [];
    for (let at = 0; at < REVOCATIONS; at += 1) {
      const made = await hosts[at % HOSTS]?.call('POST', path, {
        token: ALICE,
        body: { label: `link ${at}` },
      });
      const { id, url = '' } = made?.json<{ id: string; url: string }>() ?? { id: '' };
      const cookie = await v.enter(undefined, linkIn(url));
      const socket = new WebSocket(address, { ...toGateway, headers: { cookie } });
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
      const closed = new Promise((resolve) => socket.once('close', resolve).once('error', () => undefined));
      const began = performance.now();
      const revoked = await hosts[(at + 1) % HOSTS]?.call('DELETE', `${path}/${id}`, { token: ALICE });
      await closed;
      took.push(performance.now() - began);
      expect(revoked?.status).toBe(204);
      expect((await v.statuses(cookie))['a fetch']).toBe(401);
    }
    took.sort((a, b) => a - b);
    expect(took.at(Math.ceil(REVOCATIONS * 0.99) - 1)).toBeLessThan(1_000);
  }, 300_000);
});

/** What the page `/open` reads from the URL of a link. */
function linkIn(url: string): { readonly link: string; readonly secret: string } {
  const [link = '', secret = ''] = new URL(url).hash.slice(1).split('.');
  return { link, secret };
}

const STRANGERS: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
  ['GET', '/a?b=c', { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
  ['GET', '/', { 'sec-fetch-mode': 'cors' }],
  ['POST', '/.porthole/enter', { 'content-type': 'application/x-www-form-urlencoded' }],
  ['GET', '/.porthole/localhost.js', {}],
  ['GET', '/.porthole/3000/', {}],
];

/** What a stranger sees; the headers of the route and of the connection apart. */
function seen({ status, headers, text }: Answer, host: string): unknown {
  const own = Object.entries(headers).filter(
    ([name]) => !['date', 'connection', 'keep-alive', 'referrer-policy'].includes(name),
  );
  const [hostname = ''] = host.split(':');
  return JSON.parse(
    JSON.stringify({ status, headers: Object.fromEntries(own), text }).replaceAll(hostname, 'HOST'),
  ) as unknown;
}

/** The gateway tells no one when it has read a route. */
async function eventually(check: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await check();
    } catch (error) {
      if (tries === 50) throw error;
      await pause(100);
    }
  }
}
