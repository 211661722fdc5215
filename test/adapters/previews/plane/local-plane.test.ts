import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import {
  mkdtempSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { type LocalPlane, openLocalPlane } from '#adapters/previews/local-plane.ts';
import { PortholeError } from '#base/errors.ts';
import type { PreviewSpec } from '#core/previews/preview-plane.ts';
import { formatPreviewToken, previewName } from '#core/previews/preview-token.ts';
import { previewPlaneContract } from '../../../contracts/preview-plane.contract.ts';
import { pinnedClock } from '../../../doubles/pinned-clock.ts';
import { collect } from '../../../support/collect.ts';

const NOON = new Date('2026-03-01T12:00:00.000Z');
const SANDBOX = { id: 'box', podName: 'box', listens: 3000, silent: 3001 };
const NOT_HTTP = 3002;

function dial(id: string, port: number): Promise<Duplex> {
  if (id !== SANDBOX.id) return Promise.reject(new PortholeError('sandbox_not_running', 'It is stopped.'));
  if (port === SANDBOX.listens) return Promise.resolve(saying('HTTP/1.1 204 No Content\r\n\r\n'));
  if (port === NOT_HTTP) return Promise.resolve(saying('SSH-2.0-OpenSSH_9.2\r\n'));
  return Promise.reject(new PortholeError('nothing_listens', 'Nothing listens.'));
}

/** A stream that sends these bytes and nothing else. */
function saying(bytes: string): Duplex {
  const stream = new Duplex({ read: () => undefined, write: (_part, _encoding, done) => done() });
  stream.push(bytes);
  return stream;
}

function open(folder: string, clock = pinnedClock(NOON), maxTotal = 40): Promise<LocalPlane> {
  return openLocalPlane({
    folder,
    zone: 'localhost',
    maxTotal,
    clock,
    sandboxes: { dial },
    address: () => ({ scheme: 'http', port: 8787 }),
  });
}

previewPlaneContract(
  'the local gateway',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'porthole-plane-'));
    let plane = await open(folder);
    return {
      plane,
      capacity: 40,
      sandbox: SANDBOX,
      now: () => NOON,
      reaches: async ({ token }) => plane.lookup(token) !== undefined,
      reopen: async () => (plane = await open(folder)),
      async plantForeign() {
        const token = formatPreviewToken(createHash('sha256').update('foreign').digest());
        const mine = `${previewName(token)}.json`;
        writeFileSync(join(folder, 'README.json'), '{"name":"someone"}');
        writeFileSync(join(folder, 'preview-0123456789abcdef0123.json'), '{"name":"preview-0123456789abc');
        writeFileSync(join(folder, mine), JSON.stringify({ name: previewName(token), token }));
        writeFileSync(join(folder, 'notes.txt'), 'not ours');
        mkdirSync(join(folder, 'a-folder.json'));
        return async () =>
          readdirSync(folder)
            .toSorted((a, b) => (a < b ? -1 : 1))
            .map((file) => [
              file,
              statSync(join(folder, file)).isFile() && readFileSync(join(folder, file), 'utf8'),
            ]);
      },
      async leavePartiallyMade(at) {
        const file = join(folder, `preview-${at.getTime()}.json.half`);
        writeFileSync(file, '{"name":"preview-');
        utimesSync(file, at, at);
      },
      dispose: async () => rmSync(folder, { recursive: true }),
    };
  },
  { runs: 1_000 },
);

describe('the local gateway', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'porthole-plane-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const spec = (seed: string, change: Partial<PreviewSpec> = {}): PreviewSpec => ({
    token: formatPreviewToken(createHash('sha256').update(seed).digest()),
    runId: 'run_1',
    owner: 'alice',
    sandboxId: 'box',
    podName: 'box',
    targetPort: 3000,
    startedAt: NOON,
    expiresAt: new Date('2026-03-01T12:30:00.000Z'),
    maxUntil: new Date('2026-03-01T20:00:00.000Z'),
    ...change,
  });

  test('keeps who may open it across a restart, and takes nothing that was decided before', async () => {
    const plane = await open(folder);
    const wanted = spec('a', { access: { level: 'org', epoch: 1, revoked: [] } });
    const { preview } = await plane.open(wanted);
    const limited: unknown[] = [];
    plane.onLimited(({ access }) => limited.push(access));
    const access = { level: 'owner', epoch: 2, revoked: ['lnk_1'] } as const;
    await plane.setAccess(preview, access);
    await plane.awaitReady(preview);
    for (const late of [wanted.access ?? access, { ...access, revoked: [] }])
      await plane.setAccess(preview, late);
    await plane.setAccess({ ...preview, uid: 'another' }, { ...access, epoch: 3 });
    expect(limited).toEqual([access]);
    expect((await open(folder)).lookup(wanted.token)?.access).toEqual(access);
    expect((await plane.findNamed(preview.name))?.access).toEqual(access);
  });

  test('serves nothing, keeps nothing alive and leaves no file for what no start has confirmed', async () => {
    const plane = await open(folder);
    const wanted = spec('a');
    const { preview } = await plane.open(wanted);
    expect(plane.lookup(wanted.token)).toBeUndefined();
    expect(await plane.touch(wanted.token, 'run_1', wanted.maxUntil)).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
    expect(await collect(plane.list())).toEqual([preview]);

    await plane.awaitReady(preview);
    expect(plane.lookup(wanted.token)?.uid).toBe(preview.uid);
    expect(readdirSync(folder)).toEqual([`${preview.name}.json`]);
    expect(statSync(join(folder, `${preview.name}.json`)).mode & 0o777).toBe(0o600);
  });

  test('changes the version at the confirmation, so that a reaper with the version before does not close it', async () => {
    const plane = await open(folder);
    const { preview } = await plane.open(spec('a'));
    await plane.awaitReady(preview);
    expect(await plane.close(preview, { uid: preview.uid, version: preview.version })).toBe(false);
  });

  test('never confirms another object than the one it was asked for', async () => {
    const plane = await open(folder);
    const { preview: first } = await plane.open(spec('a'));
    await plane.close(first);
    await plane.open(spec('a'));
    await plane.awaitReady(first);
    expect(plane.lookup(first.token)).toBeUndefined();
  });

  test('dates previews in the order of their making, within a tick and around a step back of the clock', async () => {
    const clock = pinnedClock(NOON);
    const plane = await open(folder, clock);
    const opened = [];
    for (const seed of ['a', 'b', 'c']) opened.push((await plane.open(spec(seed))).preview);
    clock.advance(-60_000);
    opened.push((await plane.open(spec('d'))).preview);
    await plane.awaitReady(opened.at(-1) as (typeof opened)[0]);
    opened.push((await (await open(folder, clock)).open(spec('e'))).preview);
    const times = opened.map((preview) => preview.createdAt.getTime() - NOON.getTime());
    expect(times).toEqual([0, 1, 2, 3, 4]);
  });

  test.each([
    ['where nothing listens', { targetPort: SANDBOX.silent }, 'nothing_listens'],
    ['where the server does not speak HTTP', { targetPort: NOT_HTTP }, 'not_http'],
    ['where the sandbox is stopped', { sandboxId: 'asleep' }, 'sandbox_stopped'],
  ])('says at once why it is not ready %s', async (_name, change, reason) => {
    const plane = await open(folder);
    const { preview } = await plane.open(spec('a', change));
    expect(await plane.awaitReady(preview)).toEqual({ ready: false, reason });
    expect(plane.lookup(preview.token)?.uid).toBe(preview.uid);
  });

  test('tells of each preview that ends, once', async () => {
    const plane = await open(folder);
    const ended: string[] = [];
    plane.onClosed(({ name }) => void ended.push(name));
    const { preview } = await plane.open(spec('a'));
    await plane.awaitReady(preview);
    await plane.close(preview, { version: 'stale' });
    await plane.close(preview);
    await plane.close(preview);
    expect(ended).toEqual([preview.name]);
  });

  test('puts the listener into the URL, but for the default ports', async () => {
    const at = async (scheme: 'http' | 'https', port: number) => {
      const plane = await openLocalPlane({
        folder,
        zone: 'preview.example',
        maxTotal: 9,
        clock: pinnedClock(NOON),
        sandboxes: { dial },
        address: () => ({ scheme, port }),
      });
      return (await plane.open(spec('a'))).preview.url?.replace(/\/\/.*-preview/, '//TOKEN-preview');
    };
    expect(await at('http', 8787)).toBe('http://TOKEN-preview.preview.example:8787');
    expect(await at('http', 80)).toBe('http://TOKEN-preview.preview.example');
    expect(await at('https', 443)).toBe('https://TOKEN-preview.preview.example');
    expect(await at('https', 80)).toBe('https://TOKEN-preview.preview.example:80');
  });
});
