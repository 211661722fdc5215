import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { guestCalls } from '#adapters/guest/guest-calls.ts';
import { PortholeError } from '#base/errors.ts';
import { guestsOf } from '#core/processes/guest.ts';
import type { OpenPreviewsAnswer } from '#protocol/guest/previews-protocol.ts';
import { NOON, planeFixture, type PlaneFixture } from './plane-fixture.ts';

const CONSOLE = 'https://console.example.test';
const VISITS = { openUrl: 'https://console.example.test/open', keys: ['a-key'] };

/** What a different guest answers; undefined: the answer of a normal guest. */
type Answer = (method: string, url: string, body: string) => OpenPreviewsAnswer | undefined;

describe('a preview by way of the guest', () => {
  let fixture: PlaneFixture;
  let server: Server;
  let folder: string;
  let answer: Answer;
  let seen: string[];
  let failure: PortholeError | undefined;

  beforeEach(async () => {
    seen = [];
    failure = undefined;
    answer = () => ({ previews: [] });
    folder = mkdtempSync(join(tmpdir(), 'preview-guest-'));
    server = createServer((req, res) => {
      let body = '';
      req.on('data', (part: Buffer) => (body += part.toString()));
      req.on('end', () => {
        seen.push(`${req.method} ${req.url} ${body}`.trim());
        const said = answer(req.method ?? '', req.url ?? '', body);
        if (said !== undefined) res.setHeader('content-type', 'application/json').end(JSON.stringify(said));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const calls = guestCalls({
      async connect() {
        if (failure !== undefined) throw failure;
        const stream = connect((server.address() as AddressInfo).port, '127.0.0.1');
        await once(stream, 'connect');
        return { stream };
      },
    });
    fixture = await planeFixture({
      previewSettings: { upstream: 'guest' },
      guests: guestsOf(calls),
      frameAncestors: [CONSOLE],
      visits: VISITS,
    });
  });
  afterEach(async () => {
    await fixture.close();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });

  const stored = (kind: string) => fixture.server.store.all(kind)[0] as { spec: Record<string, unknown> };
  const hostOf = (token: string) => `${token}-preview.preview.test`;

  test('is opened at the guest before anything leads there', async () => {
    answer = () => {
      seen.push(`${fixture.server.store.all('services').length} Services`);
      return { previews: [] };
    };
    const spec = fixture.spec();
    await fixture.plane.open(spec);
    const request = {
      host: hostOf(spec.token),
      run: 'run_1',
      expires_at: spec.maxUntil.toISOString(),
      frame_ancestors: [CONSOLE],
    };
    expect(seen).toEqual([`PUT /v1/previews/3000 ${JSON.stringify(request)}`, '0 Services']);
    expect(stored('services').spec).toMatchObject({ ports: [{ port: 80, targetPort: 2791 }] });
    expect(JSON.stringify(stored('httproutes').spec['rules'])).toContain('"X-Porthole-Port","value":"3000"');
  });

  const LIMITED = { level: 'org', epoch: 1, revoked: [] } as const;
  const usage = { port: 3000, idle_ms: null, bytes_in: 0, bytes_out: 0 };

  test('tells its guest who may open it, with the page and the keys of tickets', async () => {
    const spec = fixture.spec({ access: LIMITED });
    answer = () => ({ previews: [{ ...usage, host: hostOf(spec.token), access_epoch: 1 }] });
    const { preview } = await fixture.plane.open(spec);
    expect(seen[0]).toContain(
      JSON.stringify({ ...LIMITED, open_url: VISITS.openUrl, name: preview.name, keys: VISITS.keys }),
    );
    seen.length = 0;
    await fixture.plane.setAccess(preview, { ...LIMITED, epoch: 2, revoked: ['lnk_1'] });
    expect(seen).toEqual([expect.stringContaining('"epoch":2,"revoked":["lnk_1"]')]);
    expect(await fixture.plane.findNamed(preview.name)).toEqual(preview);
  });

  test('has its name as the second host of its route, once its guest serves it', async () => {
    const spec = fixture.spec({ access: { ...LIMITED, name: 'shop-demo' } });
    const NAMED = 'shop-demo-preview.preview.test';
    answer = (_method, _url, body) => {
      const { access } = JSON.parse(body) as { access: { epoch: number; named_host?: string } };
      const { epoch, named_host } = access;
      seen.push(JSON.stringify(stored('httproutes')?.spec['hostnames'] ?? null));
      return { previews: [{ ...usage, host: hostOf(spec.token), access_epoch: epoch, named_host }] };
    };
    const { preview } = await fixture.plane.open(spec);
    expect(seen).toEqual([expect.stringContaining(`"named_host":"${NAMED}"`), 'null']);
    expect(stored('httproutes').spec['hostnames']).toEqual([hostOf(spec.token), NAMED]);
    expect(preview).toMatchObject({ namedHost: NAMED, url: `https://${hostOf(spec.token)}` });
    const named = async (name: string | undefined, epoch: number) => {
      const current = await fixture.plane.find(spec.token);
      if (current === undefined) throw new Error('no preview');
      await fixture.plane.setAccess(current, { ...LIMITED, epoch, name });
      return stored('httproutes').spec['hostnames'];
    };
    expect(await named('store', 2)).toEqual([hostOf(spec.token), 'store-preview.preview.test']);
    expect(await named(undefined, 3)).toEqual([hostOf(spec.token)]);
    expect(await named('shop-demo', 4)).toEqual([hostOf(spec.token), NAMED]);
    expect((await fixture.plane.find(spec.token))?.namedHost).toBe(NAMED);
  });

  test('has no name that its guest would not serve', async () => {
    const spec = fixture.spec({ access: { ...LIMITED, name: 'shop-demo' } });
    answer = () => ({ previews: [{ ...usage, host: hostOf(spec.token), access_epoch: 1 }] });
    await expect(fixture.plane.open(spec)).rejects.toMatchObject({
      code: 'preview_not_enabled',
      message: expect.stringContaining('without names'),
    });
    expect(fixture.server.store.all('httproutes')).toEqual([]);
  });

  test('tells its guest that its pages reach localhost, which a change of the access leaves as it is', async () => {
    const { preview } = await fixture.plane.open(fixture.spec({ mapsLocalhost: true }));
    expect(seen[0]).toContain('"maps_localhost":true');
    await fixture.plane.setAccess(preview, { level: 'link', epoch: 1, revoked: [] });
    expect(seen[1]).not.toContain('maps_localhost');
  });

  test('is not opened, nor limited, by a guest that would serve everyone', async () => {
    const spec = fixture.spec();
    answer = () => ({ previews: [{ ...usage, host: hostOf(spec.token) }] });
    const refusal = {
      code: 'preview_not_enabled',
      message: expect.stringContaining('without access levels'),
    };
    await expect(fixture.plane.open({ ...spec, access: LIMITED })).rejects.toMatchObject(refusal);
    expect(fixture.server.store.all('httproutes')).toEqual([]);
    const { preview } = await fixture.plane.open(spec);
    await expect(fixture.plane.setAccess(preview, LIMITED)).rejects.toMatchObject(refusal);
    failure = new PortholeError('sandbox_not_running', 'It is stopped.');
    await expect(fixture.plane.setAccess(preview, LIMITED)).rejects.toMatchObject({
      code: 'sandbox_not_running',
    });
  });

  test('is not opened where nothing enforces its access', async () => {
    const { plane } = fixture.another(undefined, { upstream: 'direct' });
    const refusal = { code: 'preview_not_enabled' };
    await expect(plane.open(fixture.spec({ access: LIMITED }))).rejects.toMatchObject(refusal);
    const { preview } = await plane.open(fixture.spec());
    await expect(plane.setAccess(preview, LIMITED)).rejects.toMatchObject(refusal);
  });

  test('shows servers that listen on loopback alone, and says so', () => {
    expect(fixture.plane.needsOpenAddress).toBe(false);
    expect(fixture.plane.seesTraffic).toBe(false);
  });

  test('has the route that fits the Service which an earlier start of another setting left', async () => {
    const spec = fixture.spec();
    await fixture.another(undefined, { upstream: 'direct' }).plane.open(spec);
    const [route] = fixture.server.store.all('httproutes') as { metadata: { name: string } }[];
    fixture.server.store.delete('httproutes', route?.metadata.name ?? '', {});
    await fixture.plane.open(spec);
    expect(stored('httproutes').spec['rules']).toHaveLength(2);
  });

  test('fails to start, and leaves nothing, where the guest cannot be reached', async () => {
    failure = new PortholeError('exec_transport_error', 'The pod does not answer.');
    await expect(fixture.plane.open(fixture.spec())).rejects.toMatchObject({ code: 'exec_transport_error' });
    expect(fixture.server.store.all('services')).toEqual([]);
  });

  test('starts all the same, and says so, where the sandbox is stopped', async () => {
    failure = new PortholeError('sandbox_not_running', 'It is stopped.');
    const { preview } = await fixture.plane.open(fixture.spec({ sandboxId: 'asleep' }));
    expect(await fixture.plane.awaitReady(preview)).toEqual({ ready: false, reason: 'sandbox_stopped' });
  });

  test('is closed at the guest once its route is gone', async () => {
    const { preview } = await fixture.plane.open(fixture.spec());
    seen.length = 0;
    expect(await fixture.plane.close(preview)).toBe(true);
    expect(seen).toEqual([`DELETE /v1/previews/3000?host=${hostOf(preview.token)}`]);
    expect(await fixture.plane.close(preview)).toBe(false);
    expect(seen).toHaveLength(1);
  });

  test('was last used when its guest says', async () => {
    const { preview } = await fixture.plane.open(fixture.spec());
    const host = hostOf(preview.token);
    const usage = { port: 3000, bytes_in: 1, bytes_out: 2 };
    answer = () => ({
      previews: [
        { ...usage, host: 'another.preview.test', idle_ms: 1 },
        { ...usage, host, idle_ms: 90_000 },
      ],
    });
    expect(await fixture.plane.lastUsed(preview)).toEqual(new Date(NOON.getTime() - 90_000));
    answer = () => ({ previews: [{ ...usage, host, idle_ms: null }] });
    expect(await fixture.plane.lastUsed(preview)).toBeUndefined();
  });

  test('was last used when its guest saw a connection, where the gateway leads to the app', async () => {
    const { plane } = fixture.another(undefined, { upstream: 'direct' });
    expect([plane.needsOpenAddress, plane.seesTraffic]).toEqual([true, false]);
    const { preview } = await plane.open(fixture.spec());
    expect(seen).toEqual([expect.stringMatching(/^PUT .*"direct":true/)]);
    expect(stored('services').spec).toMatchObject({ ports: [{ targetPort: 3000 }] });
    const usage = { port: 3000, host: hostOf(preview.token), idle_ms: 90_000, bytes_in: 0, bytes_out: 0 };
    answer = () => ({ previews: [usage] });
    expect(await plane.lastUsed(preview)).toEqual(new Date(NOON.getTime() - 90_000));
  });

  test('starts without its guest, where the gateway leads to the app', async () => {
    failure = new PortholeError('exec_transport_error', 'The pod does not answer.');
    const { plane } = fixture.another(undefined, { upstream: 'direct' });
    const { preview } = await plane.open(fixture.spec());
    expect(await plane.lastUsed(preview)).toBeUndefined();
  });

  test.each<[string, Answer]>([
    [
      'lies about the past',
      () => ({ previews: [{ port: 3000, host: 'x', idle_ms: -1, bytes_in: 0, bytes_out: 0 }] }),
    ],
    ['speaks another protocol', () => ({ previews: 'none' }) as unknown as OpenPreviewsAnswer],
    ['knows nothing of it', () => ({ previews: [] })],
    ['never answers', () => undefined],
  ])('tells nothing of its use where the guest %s', async (_, says) => {
    const { preview } = await fixture.plane.open(fixture.spec());
    answer = says;
    expect(await fixture.plane.lastUsed(preview)).toBeUndefined();
  });
});
