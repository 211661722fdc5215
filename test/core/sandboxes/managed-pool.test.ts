import { NO_NETWORK } from '#core/network/network-policy.ts';
import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProvider } from '#test/support/with-guests.ts';
import { POOL_OWNER } from '#core/sandboxes/sandbox-owner.ts';
import type { WarmPool } from '#core/sandboxes/warm-pool.ts';
import { createSandbox, type NewSandbox } from '#core/sandboxes/create-sandbox.ts';
import { recoverSandboxes } from '#host/platforms/recover-sandboxes.ts';
import { warmPoolContract } from '#test/contracts/warm-pool.contract.ts';
import { poolConfig, settled } from '#test/support/warm-pools.ts';
import { numberedIds } from '#test/doubles/numbered-ids.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { folderProvider } from '#test/races/folder-provider.ts';
import { collect } from '#test/support/collect.ts';
import { type ManagedPoolHarness, openManagedPools } from '../use-cases/warm-pool/managed-pool-harness.ts';
import { aSandbox } from '#test/contracts/records/samples.ts';

const ALICE = { user: 'alice', org: 'acme' };
const silent = () => undefined;
const NOON = new Date('2026-03-01T12:00:00.000Z');

/** Sandboxes that are folders, each created in `between`. */
async function openFolders(
  change: Partial<TestProvider> = {},
  between?: () => Promise<void>,
  clock = pinnedClock(NOON),
): Promise<ManagedPoolHarness> {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-pool-'));
  return openManagedPools(
    { ...folderProvider(folder, between), ...change },
    async () => rmSync(folder, { recursive: true }),
    clock,
  );
}

describe('a managed pool', () => {
  warmPoolContract(() => openFolders(), { hands: true });
});

describe('with sandboxes', () => {
  let harness: ManagedPoolHarness;
  beforeEach(async () => {
    harness = await openFolders();
  });
  afterEach(() => harness.dispose());

  const depsOf = (pool: WarmPool) => ({
    records: harness.records,
    sandboxes: harness.sandboxes,
    pool,
    clock: pinnedClock(NOON),
    ids: numberedIds(),
    installationId: 'here',
    quotas: NO_QUOTAS,
    images: [],
  });
  const mine = async () => (await harness.records.capacity.wantedBy(POOL_OWNER, 'here')).map(({ id }) => id);

  test('hands out nothing before it has checked what a restart left', async () => {
    const before = harness.open(poolConfig());
    await before.prime();
    await before.close();
    const after = harness.open(poolConfig());
    expect(await after.take(ALICE)).toBeUndefined();
    await after.prime();
    expect((await after.take(ALICE))?.owner).toEqual(ALICE);
  });

  test('keeps what the previous host left', async () => {
    const before = harness.open(poolConfig());
    await before.prime();
    await before.close();
    const left = await mine();
    await harness.open(poolConfig()).prime();
    expect(await mine()).toEqual(left);
    expect(left).toHaveLength(3);
  });

  test('leaves handovers of a killed host to recovery, and keeps the others', async () => {
    const { records, sandboxes } = harness;
    const pool = harness.open(poolConfig());
    await pool.prime();
    const taken = await pool.take(ALICE);
    await pool.close();
    const left = await mine();
    const clock = pinnedClock(new Date(NOON.getTime() + 1));
    const log = { debug: silent, info: silent, warn: silent, error: silent };
    const { signal } = new AbortController();
    await recoverSandboxes({ records, sandboxes: sandboxes, installationId: 'here', clock, log }, signal);
    expect((await records.sandboxes.get(taken?.id ?? ''))?.observed).toBe('destroyed');
    expect(await mine()).toEqual(left);
    expect((await collect(sandboxes.list())).toSorted()).toEqual(left.toSorted());
  });

  test('skips a dead sandbox and hands out the next running one', async () => {
    const pool = harness.open(poolConfig());
    await pool.prime();
    const [dead = '', alive] = await mine();
    await harness.sandboxes.destroy(dead);
    expect((await pool.take(ALICE))?.id).toBe(alive);
    await settled(pool, 3);
    expect(await mine()).not.toContain(dead);
    expect(await pool.stats()).toMatchObject({ warm: 3, assigned: 1, total: 4 });
  });

  test('replaces dead sandboxes on its next pass', async () => {
    const pool = harness.open(poolConfig());
    await pool.prime();
    const [dead = '', ...alive] = await mine();
    await harness.sandboxes.destroy(dead);
    await pool.refresh();
    const now = await mine();
    expect(now).toHaveLength(3);
    expect(now).toEqual(expect.arrayContaining(alive));
    expect(now).not.toContain(dead);
    expect((await harness.records.sandboxes.get(dead))?.observed).toBe('destroyed');
  });

  test('is skipped for another image, size or network, and used before a cold start', async () => {
    const pool = harness.open(poolConfig({ warmTarget: 1 }));
    await pool.prime();
    const [ready = ''] = await mine();
    const { records, sandboxes } = harness;
    const images = [
      { name: 'debian', reference: 'debian:12', description: '', languages: [], resources: {} },
    ];
    const deps = { ...depsOf(pool), images };
    const create = async (wanted: Partial<NewSandbox> = {}) =>
      (await createSandbox(deps, { owner: ALICE, ...wanted })).id;
    const { defaultSize } = sandboxes;
    for (const other of [
      { image: 'debian' },
      { network: { ...NO_NETWORK, mode: 'open' as const } },
      { resources: { memoryMb: defaultSize.memoryMb + 1 } },
    ]) {
      expect(await create(other)).not.toBe(ready);
    }
    expect(await create({ resources: { cpu: defaultSize.cpu } })).toBe(ready);
    expect(await records.sandboxes.get(ready)).toMatchObject({ owner: ALICE, observed: 'running' });
  });

  test('hands over by one write what needs nothing more, and never a dead one', async () => {
    const pool = harness.open(poolConfig());
    await pool.prime();
    const [dead = '', ready] = await mine();
    await harness.sandboxes.destroy(dead);
    const { records } = harness;
    const written = jest.spyOn(records.sandboxes, 'setObserved');
    try {
      const made = await createSandbox(depsOf(pool), { owner: ALICE, ttlSeconds: 60 });
      expect(made).toMatchObject({ id: ready, owner: ALICE, observed: 'running', heartbeatAt: NOON });
      expect(written.mock.calls.filter(([id]) => id === ready)).toEqual([]);
      expect(await records.sandboxes.get(made.id)).toEqual(made);
    } finally {
      written.mockRestore();
    }
    await pool.close();
    expect((await records.sandboxes.get(dead))?.observed).toBe('destroyed');
  });

  test('removes a sandbox that its taker could not use', async () => {
    const pool = harness.open(poolConfig());
    await pool.prime();
    const [ready = ''] = await mine();
    const { records, sandboxes } = harness;
    await expect(
      createSandbox(depsOf(pool), { owner: ALICE }, () => Promise.reject(new Error('no run'))),
    ).rejects.toThrow('no run');
    expect(await records.sandboxes.get(ready)).toMatchObject({ desired: 'destroyed', observed: 'destroyed' });
    expect(await collect(sandboxes.list())).not.toContain(ready);
  });

  test('shrinks when other sandboxes reach the limit', async () => {
    const pool = harness.open(poolConfig({ maxInstances: 4 }));
    await pool.prime();
    for (const id of ['one', 'two']) {
      await harness.records.sandboxes.create(aSandbox(id, { owner: ALICE, observed: 'running' }));
    }
    await pool.refresh();
    expect(await pool.stats()).toMatchObject({ warm: 2, assigned: 2, total: 4 });
  });
});

describe('with sandboxes that', () => {
  test('fail to start reports it, gives up until the next pass, and leaves nothing behind', async () => {
    let asked = 0;
    const harness = await openFolders({
      async create() {
        asked += 1;
        throw new Error('no space');
      },
    });
    const pool = harness.open(poolConfig());
    await pool.prime();
    expect(asked).toBe(3);
    expect(harness.failures.map(String)).toEqual(Array(3).fill('Error: no space'));
    expect(await harness.records.capacity.wantedBy(POOL_OWNER, 'here')).toEqual([]);
    await pool.refresh();
    expect(asked).toBe(6);
    await harness.dispose();
  });

  test('are starting when it is closed waits until they are removed', async () => {
    const begun = Promise.withResolvers<void>();
    const harness = await openFolders({
      create: (_spec, signal) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(new Error('ended')));
          begun.resolve();
        }),
    });
    const pool = harness.open(poolConfig());
    const primed = pool.prime();
    await begun.promise;
    await pool.close();
    await primed;
    expect(await harness.records.capacity.wantedBy(POOL_OWNER, 'here')).toEqual([]);
    expect(harness.failures).toEqual([]);
    await harness.dispose();
  });

  test('start at once is limited to its batch size', async () => {
    let [now, most] = [0, 0];
    const harness = await openFolders({}, async () => {
      most = Math.max(most, (now += 1));
      await new Promise((resolve) => setImmediate(resolve));
      now -= 1;
    });
    await harness.open(poolConfig({ warmTarget: 7, scaleBatchSize: 3 })).prime();
    expect(most).toBe(3);
    await harness.dispose();
  });

  test('belong to a killed instance gives them up after half an hour', async () => {
    const clock = pinnedClock(NOON);
    const harness = await openFolders({}, undefined, clock);
    await harness.records.sandboxes.create(aSandbox('half', { owner: POOL_OWNER }));
    const pool = harness.open(poolConfig({ warmTarget: 1 }));
    await pool.prime();
    expect(await pool.stats()).toMatchObject({ warm: 0 });
    clock.advance(30 * 60_000 + 1);
    await pool.refresh();
    expect(await pool.stats()).toMatchObject({ warm: 1 });
    expect((await harness.records.sandboxes.get('half'))?.observed).toBe('destroyed');
    await harness.dispose();
  });
});
