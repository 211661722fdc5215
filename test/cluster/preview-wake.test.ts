/** Stopped previews of pods that visitors open, through the cluster's gateway. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request, type RequestOptions } from 'node:https';
import type { LookupFunction } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { sandboxObjectName } from '#constructs/names.ts';
import { previewName } from '#core/previews/preview-token.ts';
import { runLifecyclePass } from '#handlers/ops/scheduled.ts';
import { ALICE, BOB, CAROL, PEOPLE } from '#test/host/support/people.ts';
import { PreviewVisitors } from '#test/host/support/preview-visitors.ts';
import { suite } from '#test/support/suite.ts';
import { cluster, missing } from './fixture/cluster.ts';
import { type ClusterHost, openOnPods } from './hosts/cluster-hosts.ts';
import { openWildcardFallback } from './hosts/wildcard-fallback.ts';

const PUBLIC_URL = 'https://porthole.test';
const NAVIGATION = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const VISITORS = 100;
const OPENS = 1_000;

suite('stopped previews of pods', missing(), () => {
  let opened: ClusterHost;
  let fallback: Awaited<ReturnType<typeof openWildcardFallback>>;
  let v: PreviewVisitors;
  let name: string;

  beforeAll(async () => {
    opened = await openOnPods({
      environment: {
        ...PEOPLE,
        PORTHOLE_PUBLIC_URL: PUBLIC_URL,
        Sandbox__Preview__Upstream: 'guest',
        Sandbox__Preview__MaxWakesPerLink: '1000',
        Sandbox__Preview__MaxWakesPerOwner: '1000',
        Sandbox__Preview__ReadyTimeoutSeconds: '60',
      },
    });
    const here = await cluster();
    fallback = await openWildcardFallback(here, opened);
    const lookup: LookupFunction = (_hostname, { all }, found) => {
      if (all === true) found(null, [{ address: here.gateway.https.host, family: 4 }]);
      else found(null, here.gateway.https.host, 4);
    };
    const toGateway: RequestOptions = { ca: readFileSync(here.gateway.caFile), lookup };
    v = await PreviewVisitors.start(3420, opened.porthole, (options) => {
      const { hostname, port } = new URL(v.preview.preview_url ?? '');
      return request({ ...toGateway, hostname, port, ...options });
    });
    name = previewName(v.preview.session_id);
  }, 300_000);
  afterAll(async () => {
    await fallback?.close();
    await opened?.end();
  }, 120_000);
  afterEach(() => void jest.restoreAllMocks());
  beforeEach(async () => {
    await control('resume');
    await served();
    await v.setLevel('org');
  }, 120_000);

  const control = async (what: 'stop' | 'resume') => {
    const path = `/v1/sandbox/${v.run.sandboxId}/${what}`;
    expect((await v.porthole.call('POST', path, { token: ALICE })).status).toBe(200);
  };
  const state = async () => (await opened.porthole.host.services.sandboxes.inspect(v.run.sandboxId)).state;
  /** Asks until the answer is the one that the gateway gives once it has the route. */
  const answer = async (isIt: (status: number, location?: string) => boolean, headers = {}) => {
    for (;;) {
      const { status, headers: found } = await v.get('/cart?a=b', headers);
      if (isIt(status, found.location)) return found.location;
    }
  };
  const served = async () => {
    await v.setLevel('link');
    await answer((status) => status === 200);
  };
  const sentAway = () => answer((status) => status === 303, NAVIGATION);
  const link = async (body: object) => {
    const { id, url } = (await v.api('POST', '/links', { label: 'for dave', ...body })).json<{
      id: string;
      url: string;
    }>();
    return { link: id, secret: url.slice(url.lastIndexOf('.') + 1) };
  };
  /** As the page: asks again while the preview starts. */
  async function open(key?: string, more: object = {}): ReturnType<PreviewVisitors['open']> {
    const answered = await v.open(key, { preview: name, wake: 'opened', ...more });
    return answered.entry.needs === 'wait' ? open(key, more) : answered;
  }
  const press = (more: object) => open(undefined, { visitor: randomUUID(), ...more, wake: 'pressed' });
  const openPage = () => `${PUBLIC_URL}/open?preview=${name}#path=%2Fcart%3Fa%3Db`;

  test('lead people to the page that starts them at once, and answer programs', async () => {
    await control('stop');
    expect(await sentAway()).toBe(openPage());
    for (const headers of [{}, { ...NAVIGATION, 'sec-purpose': 'prefetch' }]) {
      const { status, headers: said } = await v.get('/', headers);
      expect([status, said['x-porthole-status']]).toEqual([503, 'sandbox_stopped']);
    }
    expect(await state()).toBe('stopped');
    await control('resume');
    await served();
  }, 120_000);

  test('start for an invited visitor, and become the app at the same host', async () => {
    await control('stop');
    await sentAway();
    expect((await open(BOB)).status).toBe(403);
    expect(await state()).toBe('stopped');
    const { entry } = await open(CAROL);
    expect(entry.url).toBe(v.preview.preview_url);
    expect(await v.seen({ cookie: await v.enter(CAROL) })).toBe(true);
  }, 120_000);

  test(`start once for ${VISITORS} visitors, signed in or by a link`, async () => {
    const waking = await link({ may_wake: true });
    await control('stop');
    const resumes = jest.spyOn(opened.porthole.host.services.sandboxes, 'resume');
    const visitors = Array.from({ length: VISITORS }, (_, at) => (at % 2 ? open(CAROL) : press(waking)));
    for (const { entry } of await Promise.all(visitors)) {
      expect(entry).toMatchObject({ ticket: expect.any(String) });
    }
    expect(resumes).toHaveBeenCalledTimes(1);
    expect(await v.seen({ cookie: await v.enter(undefined, { ...waking, visitor: randomUUID() }) })).toBe(
      true,
    );
  }, 120_000);

  test(`start by none of ${OPENS} opens without a sign-in`, async () => {
    const plain = await link({});
    await control('stop');
    await sentAway();
    const resumes = jest.spyOn(opened.porthole.host.services.sandboxes, 'resume');
    const ask = async (at: number) => {
      if (at % 5 === 0) return open();
      if (at % 5 === 1) return press({ password: 'a guess' });
      if (at % 5 === 2) return v.get('/', NAVIGATION);
      if (at % 5 === 3) return press(plain);
      return v.porthole.call('HEAD', '/', { host: v.host, headers: NAVIGATION });
    };
    for (let from = 0; from < OPENS; from += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, at) => ask(from + at)));
    }
    expect(await state()).toBe('stopped');
    expect(resumes).not.toHaveBeenCalled();
  }, 120_000);

  test('lead to the page after a stop that was killed halfway, and after the death of the pod', async () => {
    const { services } = opened.porthole.host;
    const { plane } = services;
    await opened.kubectl('delete', 'pod', sandboxObjectName(v.run.sandboxId), '--grace-period=1');
    await runLifecyclePass(services);
    expect(await sentAway()).toBe(openPage());
    expect((await open(CAROL)).entry.ticket).toBeDefined();
    expect(await v.seen({ cookie: await v.enter(CAROL) })).toBe(true);

    await control('stop');
    const preview = await plane.find(v.preview.session_id);
    if (preview !== undefined) await plane.setAttached?.(preview, true);
    await answer((status, location) => status >= 500 && location === undefined, NAVIGATION);
    await runLifecyclePass(services);
    expect(await sentAway()).toBe(openPage());
  }, 120_000);
});
