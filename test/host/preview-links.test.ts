/** Links of previews, asked of a real host, and input that is not valid. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { ALICE, BOB, CAROL } from './support/people.ts';
import { PreviewVisitors } from './support/preview-visitors.ts';

const PORT = 3411;
let v: PreviewVisitors;
beforeAll(async () => {
  v = await PreviewVisitors.start(PORT);
});
afterAll(() => v.porthole.end());
beforeEach(() => v.setLevel('owner'));

describe('a link', () => {
  const create = async (body: object = {}) => {
    const made = (await v.api('POST', '/links', { label: 'for dave', ...body })).json<{
      id: string;
      url: string;
    }>();
    const secret = made.url.slice(made.url.lastIndexOf('.') + 1);
    v.secrets.push(secret);
    return { ...made, secret };
  };
  const by = ({ id, secret }: { readonly id: string; readonly secret: string }, more: object = {}) => ({
    link: id,
    secret,
    ...more,
  });

  test('lets its holder in, and no one who guesses', async () => {
    const link = await create();
    expect(link.url).toMatch(
      new RegExp(`^${v.porthole.host.url}/open\\?preview=preview-\\w{20}#${link.id}\\.[\\w-]{32}$`),
    );
    expect(await v.seen({ cookie: await v.enter(undefined, by(link)) })).toBe(true);
    expect((await v.open(undefined, by({ ...link, secret: `${link.secret}x` }))).status).toBe(403);
    expect((await v.open(undefined, by({ ...link, id: 'lnk_other' }))).status).toBe(403);
    expect((await v.open(CAROL, by({ ...link, secret: 'x' }))).status).toBe(403);
  });

  test('of the level org needs a person of the org, and one with a password that', async () => {
    const org = await create({ level: 'org' });
    expect((await v.open(undefined, by(org))).entry).toEqual({ needs: 'sign_in' });
    expect((await v.open(BOB, by(org))).status).toBe(403);
    expect(await v.seen({ cookie: await v.enter(CAROL, by(org)) })).toBe(true);
    const locked = await create({ password: 'open sesame' });
    expect((await v.open(undefined, by(locked))).entry).toEqual({ needs: 'password' });
    expect((await v.open(undefined, by(locked, { password: 'close sesame' }))).status).toBe(403);
    expect(await v.seen({ cookie: await v.enter(undefined, by(locked, { password: 'open sesame' })) })).toBe(
      true,
    );
  });

  test('counts its visitors, who may come back', async () => {
    const link = await create({ max_uses: 1 });
    const visitor = randomUUID();
    await v.enter(undefined, by(link, { visitor }));
    await v.enter(undefined, by(link, { visitor }));
    expect((await v.open(undefined, by(link, { visitor: randomUUID() }))).status).toBe(403);
    expect((await v.open(undefined, by(link))).status).toBe(403);
    const listed = (await v.api('GET', '/links')).json<{ links: { id: string }[] }>().links;
    expect(listed.find(({ id }) => id === link.id)).toMatchObject({
      uses: 1,
      max_uses: 1,
      label: 'for dave',
    });
    expect(JSON.stringify(listed)).not.toContain(link.secret);
  });

  test('ends open sockets and streams within a second when it is revoked, and no others', async () => {
    const [link, other] = [await create(), await create()];
    const cookie = await v.enter(undefined, by(link));
    const kept = await v.enter(undefined, by(other));
    const connect = (header: string) =>
      new WebSocket(`ws://127.0.0.1:${v.porthole.host.port}/`, { headers: { host: v.host, cookie: header } });
    const [socket, keptSocket] = [connect(cookie), connect(kept)];
    await Promise.all([once(socket, 'open'), once(keptSocket, 'open')]);
    const stream = v.get('/events', { cookie }).then(
      () => 'ended',
      () => 'cut',
    );
    const closed = once(socket, 'close');
    const began = performance.now();
    expect((await v.api('DELETE', `/links/${link.id}`)).status).toBe(204);
    await Promise.all([closed, stream]);
    expect(performance.now() - began).toBeLessThan(1_000);
    expect(await v.seen({ cookie })).toBe(false);
    expect((await v.open(undefined, by(link))).status).toBe(403);
    expect(await v.seen({ cookie: kept })).toBe(true);
    expect(keptSocket.readyState).toBe(WebSocket.OPEN);
    await v.setLevel('owner');
    await once(keptSocket, 'close');
    expect((await v.api('DELETE', `/links/${other.id}`)).status).toBe(204);
  });

  test('is listed and revoked by the owner only', async () => {
    const link = await create();
    for (const token of [BOB, CAROL]) {
      expect((await v.api('GET', '/links', undefined, token)).status).toBe(404);
      expect((await v.api('POST', '/links', { label: 'x' }, token)).status).toBe(404);
      expect((await v.api('DELETE', `/links/${link.id}`, undefined, token)).status).toBe(404);
      expect((await v.api('PUT', '/access', { level: 'link' }, token)).status).toBe(404);
      expect((await v.api('GET', '/viewers', undefined, token)).status).toBe(404);
    }
    expect((await v.api('DELETE', '/links/lnk_none')).status).toBe(404);
  });

  test('shows who came by it', async () => {
    const link = await create();
    await v.enter(undefined, by(link));
    const { viewers } = (await v.api('GET', '/viewers')).json<{
      viewers: { viewer: string; link_id: string }[];
    }>();
    expect(viewers.find(({ link_id }) => link_id === link.id)?.viewer).toMatch(/^visitor-[a-z2-7]{12}$/);
  });
});

describe('bad input', () => {
  test.each([
    ['an unknown level', 'PUT', '/access', { level: 'everyone' }, 'owner, org, signed_in, password, link'],
    [
      'a password that nothing asks for',
      'PUT',
      '/access',
      { level: 'org', password: 'long enough' },
      'level org',
    ],
    ['the level password without one', 'PUT', '/access', { level: 'password' }, 'needs one'],
    ['a short password', 'PUT', '/access', { level: 'password', password: 'short' }, '8 characters'],
    ['a link for the owner', 'POST', '/links', { label: 'x', level: 'owner' }, 'org, signed_in, link'],
    ['a link without a label', 'POST', '/links', { label: ' ' }, 'empty'],
  ])('is refused: %s', async (_, method, path, body, why) => {
    const answer = await v.api(method, path, body);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(why)]);
  });

  test('a cross-site page cannot use the session of a browser', async () => {
    const cookie = v.sessions.get(ALICE) ?? '';
    const body = { preview: v.preview.session_id };
    const foreign = { cookie, origin: `http://${v.host}` };
    expect((await v.porthole.call('POST', '/api/open', { body, headers: foreign })).status).toBe(403);
    const without = await v.porthole.call('POST', '/api/open', { body, headers: { cookie } });
    expect(without.json()).toEqual({ needs: 'sign_in' });
  });
});

test('logs no ticket, no cookie, no pass and no secret', () => {
  expect(v.secrets.length).toBeGreaterThan(10);
  const log = v.porthole.logged.join('\n');
  expect(v.secrets.filter((secret) => log.includes(secret))).toEqual([]);
});
