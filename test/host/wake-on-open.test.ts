/** Stopped previews that visitors open, asked of a real host. */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { previewName } from '#core/previews/preview-token.ts';
import { reapPreviews } from '#core/previews/reap-previews.ts';
import { startTestHost } from '#test/support/in-process-host.ts';
import { ADA_ADMIN, ALICE, BOB, CAROL, PEOPLE } from './support/people.ts';
import { PreviewVisitors } from './support/preview-visitors.ts';
import { startPreview } from './support/runs.ts';

const PORT = 3413;
const NAVIGATION = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
let v: PreviewVisitors;
beforeAll(async () => {
  const settings = {
    ...PEOPLE,
    Sandbox__Preview__MaxWakesPerOwner: '1000',
    Sandbox__Preview__ReadyTimeoutSeconds: '60',
  };
  v = await PreviewVisitors.start(PORT, await startTestHost(settings));
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(() => v.porthole.end());

const stop = async () => {
  const { status } = await v.porthole.call('POST', `/v1/sandbox/${v.run.sandboxId}/stop`, { token: ALICE });
  expect(status).toBe(200);
};
const state = async () => (await v.porthole.host.services.sandboxes.inspect(v.run.sandboxId)).state;
/** As the reaper does an hour later. */
const reapAnHourLater = async () => {
  const { services } = v.porthole.host;
  const later = new Date(Date.now() + 3_600_000);
  await reapPreviews({ ...services, clock: { now: () => later } });
  expect(await services.plane.find(v.preview.session_id)).toBeUndefined();
};
const link = async (body: object = {}) => {
  const { id, url } = (await v.api('POST', '/links', { label: 'for dave', ...body })).json<{
    id: string;
    url: string;
  }>();
  return { link: id, secret: url.slice(url.lastIndexOf('.') + 1) };
};
/** As the page: asks again while the preview starts. */
async function open(key?: string, more: object = {}): ReturnType<PreviewVisitors['open']> {
  const opened = await v.open(key, { wake: 'opened', ...more });
  return opened.entry.needs === 'wait' ? open(key, more) : opened;
}
const press = (more: object, key?: string) => open(key, { ...more, wake: 'pressed' });
const byName = { preview: '' };

beforeEach(async () => {
  byName.preview = previewName(v.preview.session_id);
  if ((await state()) !== 'running')
    await v.porthole.call('POST', `/v1/sandbox/${v.run.sandboxId}/resume`, { token: ALICE });
  v.preview = await startPreview(v.porthole, v.run.runId, PORT, ALICE);
  await v.setLevel('owner');
});

describe.each(['stopped', 'stopped and reaped'])('a preview that is %s', (how) => {
  const sleep = async () => {
    await stop();
    if (how !== 'stopped') await reapAnHourLater();
  };

  test.each([
    ['owner', 'alice', ALICE, true],
    ['owner', 'an admin', ADA_ADMIN, true],
    ['owner', 'carol', CAROL, false],
    ['org', 'carol', CAROL, true],
    ['org', 'bob', BOB, false],
    ['signed_in', 'bob', BOB, true],
    ['link', 'alice', ALICE, true],
    ['link', 'bob', BOB, false],
  ])('at %s starts at the same host for %s: %s', async (level, _, key, wakes) => {
    await v.setLevel(level);
    await sleep();
    const { entry, status } = await open(key, byName);
    expect([status, await state()]).toEqual(wakes ? [200, 'running'] : [403, 'stopped']);
    if (!wakes) return;
    expect(entry.url).toBe(v.preview.preview_url);
    expect(await v.seen(level === 'link' ? {} : { cookie: await v.enter(key) })).toBe(true);
  });

  test('starts nothing for who is not signed in, and says nothing to them', async () => {
    for (const level of ['owner', 'org', 'signed_in', 'link']) {
      await v.setLevel(level);
      await sleep();
      expect((await open(undefined, byName)).entry).toEqual({ needs: 'sign_in' });
      expect(await state()).toBe('stopped');
      await v.porthole.call('POST', `/v1/sandbox/${v.run.sandboxId}/resume`, { token: ALICE });
      await startPreview(v.porthole, v.run.runId, PORT, ALICE);
    }
  });

  test('starts for a visitor without a name by the button, on a link that may wake', async () => {
    const [plain, waking] = [await link(), await link({ may_wake: true })];
    await sleep();
    expect((await open(undefined, plain)).entry).toMatchObject({
      needs: 'owner',
      reason: 'This preview is stopped',
    });
    expect((await press(plain)).entry.needs).toBe('owner');
    expect((await open(undefined, waking)).entry).toEqual({ needs: 'wake' });
    expect((await press({ ...waking, secret: 'x' })).status).toBe(403);
    expect(await state()).toBe('stopped');
    expect((await press(waking)).entry.ticket).toBeDefined();
    expect(await state()).toBe('running');
  });

  test('does not start for strangers who know the password', async () => {
    await v.setLevel('password', { password: 'open sesame' });
    const password = { ...byName, password: 'open sesame' };
    await sleep();
    for (const key of [BOB, undefined]) expect((await press(password, key)).entry.needs).toBe('owner');
    expect(await state()).toBe('stopped');
  });

  test('does not start by a link that is revoked or used up', async () => {
    const [revoked, used] = [await link({ may_wake: true }), await link({ may_wake: true, max_uses: 1 })];
    await v.enter(undefined, { ...used, visitor: randomUUID() });
    await sleep();
    expect((await v.api('DELETE', `/links/${revoked.link}`)).status).toBe(204);
    for (const held of [revoked, used]) {
      expect((await press({ ...held, visitor: randomUUID() })).status).toBe(403);
    }
    expect(await state()).toBe('stopped');
  });

  test('sends a person who opens it to the page, and answers programs as before', async () => {
    await v.setLevel('link');
    await sleep();
    const away = await v.get('/a?b=c', NAVIGATION);
    expect([away.status, away.headers.location]).toEqual([
      303,
      `${v.porthole.host.url}/open?preview=${byName.preview}#path=%2Fa%3Fb%3Dc`,
    ]);
    const status = how === 'stopped' ? 503 : 410;
    for (const headers of [{}, { accept: 'text/html' }, { ...NAVIGATION, 'sec-purpose': 'prefetch' }]) {
      expect((await v.get('/', headers)).status).toBe(status);
    }
    expect((await v.porthole.call('HEAD', '/', { host: v.host, headers: NAVIGATION })).status).toBe(status);
    expect(await state()).toBe('stopped');
  });

  test('starts once for a hundred visitors', async () => {
    await v.setLevel('org');
    const held = await link({ may_wake: true });
    await sleep();
    const resumes = jest.spyOn(v.porthole.host.services.sandboxes, 'resume');
    const visitors = Array.from({ length: 100 }, (_, at) =>
      at % 2 ? open(CAROL, byName) : press({ ...held, visitor: randomUUID() }),
    );
    for (const { entry } of await Promise.all(visitors)) {
      expect(entry).toMatchObject({ ticket: expect.any(String) });
    }
    expect(resumes).toHaveBeenCalledTimes(1);
  });
});

test('starts nothing for a thousand requests without a sign-in', async () => {
  await stop();
  const resumes = jest.spyOn(v.porthole.host.services.sandboxes, 'resume');
  const ask = async (at: number) => {
    if (at % 4 === 0) return open(undefined, byName);
    if (at % 4 === 1) return press({ ...byName, password: 'a guess' });
    if (at % 4 === 2) return v.get('/', NAVIGATION);
    return v.porthole.call('HEAD', '/', { host: v.host });
  };
  for (let from = 0; from < 1_000; from += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, at) => ask(from + at)));
  }
  expect(await state()).toBe('stopped');
  expect(resumes).not.toHaveBeenCalled();
});

test('shows a stranger the same for a stopped, a foreign and an unknown preview', async () => {
  const unknown = 'quiet-amber-otter-aaaaaaaaaaaaaaaaaaaaaaaaaa';
  const seen = async (token: string) => {
    const host = `${token}-preview.localhost:${v.porthole.host.port}`;
    const away = await v.porthole.call('GET', '/x', { host, headers: NAVIGATION });
    const name = previewName(token);
    const { date: _, ...headers } = away.headers;
    const answers = [await open(undefined, { preview: name }), await open(BOB, { preview: name })];
    const texts = answers.map(({ status, text }) => [status, text.replace(/req_\w+/g, '')]);
    return JSON.stringify([away.status, headers, away.text, texts]).replaceAll(name, 'NAME');
  };
  const foreign = await seen(v.preview.session_id);
  await stop();
  const stopped = await seen(v.preview.session_id);
  await reapAnHourLater();
  expect(await seen(v.preview.session_id)).toBe(stopped);
  expect(stopped).toBe(foreign);
  expect(await seen(unknown)).toBe(foreign);
});

test('starts nothing for the console, which only shows a run', async () => {
  await stop();
  expect((await v.open(ALICE)).entry.ticket).toBeDefined();
  expect(await state()).toBe('stopped');
});

test('lets requests of visitors wait for the app while it starts', async () => {
  const cookie = await v.enter(ALICE);
  await stop();
  const opened = open(ALICE, byName);
  const waited = new Promise<boolean>((resolve) => {
    const ask = async (): Promise<void> => {
      const { status } = await v.get('/', { cookie });
      if (status === 503) setImmediate(() => void ask());
      else resolve(status === 200);
    };
    void ask();
  });
  expect((await opened).entry.ticket).toBeDefined();
  expect(await waited).toBe(true);
});
