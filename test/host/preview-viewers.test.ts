/** Who visited a preview: on the timeline of its run, and for the app. */
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose';
import { ADA_ADMIN, ALICE, CAROL } from './support/people.ts';
import { PreviewVisitors } from './support/preview-visitors.ts';

const GUIDE = join(import.meta.dirname, '../../docs/guides/preview-access.md');

interface Visited {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

let v: PreviewVisitors;
beforeAll(async () => {
  v = await PreviewVisitors.start(3450);
});
afterAll(() => v.porthole.end());
beforeEach(() => v.setLevel('org'));

async function visits(): Promise<readonly Visited['data'][]> {
  const path = `/api/runs/${v.run.runId}/timeline?limit=1000`;
  const { events } = (await v.porthole.call('GET', path, { token: ALICE })).json<{ events: Visited[] }>();
  return events.filter(({ type }) => type === 'preview.visited').map(({ data }) => data);
}

test('puts each viewer on the timeline once in an hour, with the link', async () => {
  for (const key of [CAROL, CAROL, ALICE]) await v.enter(key);
  const link = (await v.api('POST', '/links', { label: 'for dave' })).json<{ id: string; url: string }>();
  const [id, secret] = new URL(link.url).hash.slice(1).split('.');
  const visitor = '00000000-0000-4000-8000-000000000001';
  for (let times = 0; times < 2; times += 1) await v.enter(undefined, { link: id, secret, visitor });
  const preview = expect.any(String);
  expect(await visits()).toEqual([
    { target_port: 3450, preview, viewer: 'carol', level: 'org' },
    { target_port: 3450, preview, viewer: 'alice', level: 'owner' },
    {
      target_port: 3450,
      preview,
      viewer: expect.stringMatching(/^visitor-/),
      level: 'link',
      link_id: link.id,
      link: 'for dave',
    },
  ]);
  expect(JSON.stringify(await visits())).not.toContain(v.preview.session_id);
});

test('lets visitors without a name put at most twenty events there', async () => {
  await v.setLevel('password', { password: 'open sesame' });
  for (let times = 0; times < 60; times += 1) await v.enter(undefined, { password: 'open sesame' });
  const unnamed = (await visits()).filter(({ viewer }) => String(viewer).startsWith('visitor-'));
  expect(unnamed.length).toBeGreaterThan(5);
  expect(unnamed.length).toBeLessThanOrEqual(20);
});

test('lets no one enter while an admin has stopped the previews of the owner', async () => {
  const owner = { user: 'alice', org: 'acme' };
  const { access } = v.porthole.host.services.records;
  await access.putBlock({ owner, reason: '', by: 'ada', at: new Date() });
  for (const key of [ALICE, CAROL, ADA_ADMIN]) expect((await v.open(key)).status).toBe(403);
  await access.removeBlock(owner);
  expect((await v.open(ALICE)).status).toBe(200);
});

/** The block of the guide, with this host for the one of the example. */
async function verifyAsInGuide(headers: IncomingHttpHeaders): Promise<JWTPayload> {
  const [, block = ''] = /```typescript\n([^`]+)```/.exec(readFileSync(GUIDE, 'utf8')) ?? [];
  const code = block.replace('https://porthole.example.com', v.porthole.host.url);
  const known = { createRemoteJWKSet, jwtVerify, URL, request: { headers }, previewHost: v.host };
  return (await runInNewContext(`(async () => { ${code}; return viewer; })()`, known)) as JWTPayload;
}

const seenWith = async (headers: Record<string, string>): Promise<IncomingHttpHeaders> =>
  JSON.parse((await v.get('/', headers)).text).headers as IncomingHttpHeaders;

test('names the viewer to the app so that it can verify it, as the guide shows', async () => {
  const forged = { 'x-porthole-viewer': 'forged', X_Porthole_Viewer: 'forged' };
  const headers = await seenWith({ ...forged, cookie: await v.enter(CAROL) });
  expect(JSON.stringify(headers)).not.toContain('forged');
  expect(await verifyAsInGuide(headers)).toMatchObject({ sub: 'carol', level: 'org', aud: v.host });
  const { keys } = (await v.porthole.call('GET', '/.well-known/jwks.json')).json<{
    keys: { kid: string }[];
  }>();
  const { kid } = decodeProtectedHeader(String(headers['x-porthole-viewer']));
  expect(keys.map((key) => key.kid)).toContain(kid);
});

test('signs nothing else that an app could take for a viewer', async () => {
  const pass = (await v.api('POST', '/pass')).json<{ pass: string }>().pass;
  const { entry } = await v.open(ALICE);
  for (const token of [pass, entry.ticket]) {
    await expect(verifyAsInGuide({ 'x-porthole-viewer': token })).rejects.toThrow('"typ"');
  }
});
