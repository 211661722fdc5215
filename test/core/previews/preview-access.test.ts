import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Person } from '#core/callers.ts';
import {
  allowedAccess,
  changeAccess,
  createLink,
  createPass,
  levelsOfRun,
  reachOf,
  revokeLink,
  withoutLink,
} from '#core/previews/preview-access.ts';
import type { PortAccess } from '#core/previews/access-store.ts';
import { levelsOf, type PreviewOptions } from '#core/previews/preview-limits.ts';
import type { Preview } from '#core/previews/preview-plane.ts';
import { ACCESS_LEVELS, isWider, MAX_REVOKED_LINKS, type PreviewAccess } from '#protocol/preview-access.ts';
import { numberedIds } from '#test/doubles/numbered-ids.ts';
import { codeOf, HOUR, MINUTE, NOON, previewHarness } from '../use-cases/preview-harness.ts';
import { visitPreview } from './visit-preview.ts';

const OWNER = { user: 'alice', org: 'acme' };
const person = (user: string, org: string, admin = false): Person => ({ kind: 'person', user, org, admin });
const ALICE = person('alice', 'acme');
const PEOPLE = {
  alice: ALICE,
  'an admin': person('ada', 'ops', true),
  carol: person('carol', 'acme'),
  bob: person('bob', 'globex'),
  'another alice': person('alice', 'globex'),
  anonymous: undefined,
};

/** By level: who reaches it, who has to sign in, and who is refused. */
test.each([
  ['owner', 'alice, an admin', 'anonymous'],
  ['org', 'alice, an admin, carol', 'anonymous'],
  ['signed_in', 'alice, an admin, carol, bob, another alice', 'anonymous'],
  ['password', 'alice, an admin, carol, bob, another alice, anonymous', ''],
  ['link', 'alice, an admin, carol, bob, another alice, anonymous', ''],
] as const)('%s is reached by %s', (level, reached, signsIn) => {
  const names = Object.keys(PEOPLE) as (keyof typeof PEOPLE)[];
  const by = (kind: string) => names.filter((name) => reachOf(level, OWNER, PEOPLE[name]) === kind);
  expect([by('reached').join(', '), by('sign_in').join(', ')]).toEqual([reached, signsIn]);
});

test('never allows more than the maximum', () => {
  for (const maxAccess of ACCESS_LEVELS) {
    for (const level of ACCESS_LEVELS) {
      const stored: PreviewAccess = { level, epoch: 7, revoked: ['a'] };
      const allowed = allowedAccess(stored, { access: 'link', maxAccess });
      expect(allowed).toEqual({ ...stored, level: isWider(level, maxAccess) ? maxAccess : level });
      expect(isWider(allowedAccess(undefined, { access: level, maxAccess }).level, maxAccess)).toBe(false);
    }
  }
});

test('takes the default and the maximum of the zone of an org', () => {
  const gateway = { name: 'g', namespace: 'n' };
  const zones = [
    { zone: 'a.test', orgs: ['acme'], gateway, access: 'owner', maxAccess: 'org' },
    { zone: 'b.test', orgs: ['beta'], gateway, maxAccess: 'password' },
  ] as const;
  const levels = (org: string) => levelsOf({ access: 'link', maxAccess: 'link', zones }, org);
  expect(['acme', 'beta', 'other'].map(levels)).toEqual([
    { access: 'owner', maxAccess: 'org' },
    { access: 'link', maxAccess: 'password' },
    { access: 'link', maxAccess: 'link' },
  ]);
  expect(allowedAccess(undefined, levels('beta')).level).toBe('password');
});

test('ends every visit when more links were revoked than a preview remembers', () => {
  let access: PortAccess = { level: 'org', epoch: 4, revoked: [], password: null };
  for (let at = 0; at < MAX_REVOKED_LINKS; at += 1) access = withoutLink(access, `lnk_${at}`);
  expect([access.epoch, access.revoked.length]).toEqual([4, MAX_REVOKED_LINKS]);
  expect(withoutLink(access, 'lnk_0')).toEqual(access);
  expect(withoutLink(access, 'lnk_new')).toEqual({ ...access, epoch: 5, revoked: [] });
});

describe('the access of a live preview', () => {
  let harness: Awaited<ReturnType<typeof previewHarness>>;
  let preview: Preview;
  const begin = async (change: Partial<PreviewOptions> = {}) => {
    await harness?.records.close();
    harness = await previewHarness(change);
    preview = (await harness.start(await harness.makeRun())).preview;
  };
  beforeEach(() => begin());
  afterEach(() => harness.records.close());

  const ids = numberedIds();
  const deps = () => ({ ...harness.deps, ids });
  const current = async () => (await harness.plane.find(preview.token))?.access;
  const enter = (caller: Person | undefined, link?: { id: string; secret: string }) =>
    visitPreview(deps(), { preview, visitor: { caller, link } });

  test('is open, without a record, as long as nothing was set', async () => {
    expect(await current()).toBeUndefined();
    expect(await visitPreview(deps(), { preview, visitor: { caller: undefined, knowsUrl: true } })).toEqual({
      kind: 'open',
    });
    expect(await createPass(deps(), preview, { viewer: 'x' })).toBeUndefined();
  });

  test('is the default from the start', async () => {
    await begin({ access: 'org' });
    expect(await current()).toEqual({ level: 'org', epoch: 0, revoked: [] });
    expect(await enter(undefined)).toEqual({ kind: 'needs', what: 'sign_in' });
    expect((await enter(PEOPLE.carol)).kind).toBe('enters');
    expect(await enter(PEOPLE.bob)).toEqual({ kind: 'refused' });
  });

  test('reaches the plane with a new epoch, and later previews', async () => {
    for (const epoch of [1, 2]) {
      await changeAccess(deps(), { preview, level: 'owner' });
      expect(await current()).toEqual({ level: 'owner', epoch, revoked: [] });
    }
    const run = await harness.records.runs.get(preview.runId);
    if (run === undefined) throw new Error('no run');
    await harness.stop(run, preview.token);
    preview = (await harness.start(run)).preview;
    expect(await current()).toEqual({ level: 'owner', epoch: 2, revoked: [] });
  });

  test('reaches the plane with the next start, if it could not before', async () => {
    const plane = { setAccess: () => Promise.reject(new Error('no answer')) };
    await expect(changeAccess({ ...deps(), plane }, { preview, level: 'org' })).rejects.toThrow('no answer');
    expect(await current()).toBeUndefined();
    const run = await harness.records.runs.get(preview.runId);
    if (run !== undefined) await harness.start(run);
    expect(await current()).toMatchObject({ level: 'org', epoch: 1 });
  });

  test('is not above the maximum, also for a link', async () => {
    await begin({ access: 'owner', maxAccess: 'org' });
    const failing = changeAccess(deps(), { preview, level: 'link' });
    await expect(failing).rejects.toMatchObject({ code: 'invalid_request', details: { maximum: 'org' } });
    await expect(failing).rejects.toThrow('maximum of this installation, org');
    const link = createLink(deps(), { preview, by: 'alice', label: 'x', level: 'link' });
    expect(await codeOf(link)).toBe('invalid_request');
  });

  test('is that of the zone of its owner, from the start, for changes, links and visitors', async () => {
    const gateway = { name: 'g', namespace: 'n' };
    await begin({
      zones: [{ zone: 'a.test', orgs: ['acme'], gateway, access: 'owner', maxAccess: 'signed_in' }],
    });
    expect(await current()).toMatchObject({ level: 'owner' });
    expect(await enter(PEOPLE.carol)).toEqual({ kind: 'refused' });
    expect(await codeOf(changeAccess(deps(), { preview, level: 'link' }))).toBe('invalid_request');
    const link = (level: 'link' | 'signed_in') =>
      createLink(deps(), { preview, by: 'alice', label: 'x', level });
    expect(await codeOf(link('link'))).toBe('invalid_request');
    const { link: made, secret } = await link('signed_in');
    expect((await enter(PEOPLE.bob, { id: made.id, secret })).kind).toBe('enters');
    const narrower = { ...deps(), previewSettings: { ...deps().previewSettings, zones: [] } };
    expect((await levelsOfRun(narrower, preview.runId)).maxAccess).toBe('link');
  });

  test('lets the holder of a link enter until it ends', async () => {
    await changeAccess(deps(), { preview, level: 'owner' });
    const expiresAt = new Date(NOON.getTime() + HOUR);
    const { link, secret } = await createLink(deps(), {
      preview,
      by: 'alice',
      label: 'x',
      level: 'link',
      expiresAt,
    });
    const shown = { id: link.id, secret };
    const entry = await enter(undefined, shown);
    const ticket = entry.kind === 'enters' ? entry.ticket : '';
    const signed = JSON.parse(Buffer.from(ticket, 'base64url').toString()) as { ticket: object };
    expect(signed.ticket).toMatchObject({
      link: link.id,
      level: 'link',
      until: expiresAt.getTime(),
      epoch: 1,
    });
    expect(signed.ticket).toMatchObject({
      expiresAt: NOON.getTime() + MINUTE,
      host: new URL(preview.url ?? '').host,
    });
    harness.clock.advance(HOUR);
    expect(await enter(undefined, shown)).toEqual({ kind: 'refused' });
  });

  test('revokes a link once and for all, also if the plane could not be reached', async () => {
    await changeAccess(deps(), { preview, level: 'owner' });
    const { link, secret } = await createLink(deps(), { preview, by: 'alice', label: 'x', level: 'link' });
    const plane = { setAccess: () => Promise.reject(new Error('no answer')) };
    await expect(revokeLink({ ...deps(), plane }, { preview, linkId: link.id })).rejects.toThrow('no answer');
    expect(await enter(undefined, { id: link.id, secret })).toEqual({ kind: 'refused' });
    await revokeLink(deps(), { preview, linkId: link.id });
    expect(await current()).toEqual({ level: 'owner', epoch: 1, revoked: [link.id] });
    expect(await codeOf(revokeLink(deps(), { preview, linkId: 'lnk_other' }))).toBe('not_found');
  });

  test('ends the visit of a person with the session', async () => {
    await changeAccess(deps(), { preview, level: 'org' });
    const expiresAt = new Date(NOON.getTime() + 5 * MINUTE);
    const entry = await enter({ ...ALICE, session: { id: 's', expiresAt } });
    const ticket = entry.kind === 'enters' ? entry.ticket : '';
    expect(Buffer.from(ticket, 'base64url').toString()).toContain(`"until":${expiresAt.getTime()}`);
  });
});
