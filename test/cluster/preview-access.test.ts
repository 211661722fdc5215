/**
 * Who may open a preview of a pod, through the cluster's gateway: every level, caller and kind of
 * request; and how soon a revocation by any of three hosts ends open connections.
 */
import { readFileSync } from 'node:fs';
import { request, type RequestOptions } from 'node:https';
import type { LookupFunction } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { ACCESS_MATRIX, ALL_ANSWER, ALL_REFUSED, CALLERS } from '#test/host/support/access-matrix.ts';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { PreviewVisitors } from '#test/host/support/preview-visitors.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '#test/support/postgres.ts';
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
