import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomIds } from '#adapters/system/clock-and-random-ids.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import type { Records } from '#core/records.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import type { TestProvider } from '#test/support/with-guests.ts';
import type { WarmPool } from '#core/sandboxes/warm-pool.ts';
import { POOL_OWNER } from '#core/sandboxes/sandbox-owner.ts';
import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
import { createSandbox } from '#core/sandboxes/create-sandbox.ts';
import { keepLifecycle } from '#core/sandboxes/lifecycle-pass.ts';
import { ManagedPool } from '#core/sandboxes/managed-pool.ts';
import { memoryPreviewPlane } from '#test/doubles/memory-preview-plane.ts';
import { mortal } from '#test/doubles/mortal.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { plainTokens } from '#test/doubles/plain-tokens.ts';
import { collect } from '#test/support/collect.ts';
import { poolConfig } from '#test/support/warm-pools.ts';

export interface WarmClaimsHarness {
  readonly records: Records;
  readonly sandboxes: TestProvider;
  readonly dispose: () => Promise<unknown>;
}

export interface WarmClaimsSize {
  readonly slots: number;
  readonly claims: number;
  readonly inFlight: number;
  /** How many of the claims are killed in progress. */
  readonly crashes: number;
}

/** An hour longer than the longest wait for a sandbox in creation. */
const LATER_MS = 90 * 60_000;

/** Claims from a pool, in large numbers, concurrently, and with processes killed during them. */
export function warmClaimsContract(
  open: () => Promise<WarmClaimsHarness>,
  { slots, claims, inFlight, crashes }: WarmClaimsSize,
): void {
  let harness: WarmClaimsHarness;
  beforeAll(async () => {
    harness = await open();
  }, 120_000);
  afterAll(() => harness.dispose(), 120_000);

  test(`gives no claim the slot of another and loses no slot: ${claims} claims, ${inFlight} in flight, ${slots} slots, ${crashes} cut off in the middle`, async () => {
    const { records, sandboxes } = harness;
    const clock = pinnedClock(new Date());
    const deps = {
      records,
      sandboxes,
      clock,
      ids: randomIds,
      installationId: 'here',
      quotas: NO_QUOTAS,
      images: [],
    };
    const failures: unknown[] = [];
    const pools: WarmPool[] = [];
    const openPool = (on: Pick<typeof deps, 'records' | 'sandboxes'>) => {
      const pool = new ManagedPool({
        ...deps,
        ...on,
        config: poolConfig({ warmTarget: slots, scaleBatchSize: 20 }),
        failed: (error) => void failures.push(error),
      });
      pools.push(pool);
      return pool;
    };
    // Two servers on one database, and a separate server for each one that is killed during a take.
    const [one, two] = [openPool(deps), openPool(deps)];
    await one.prime();
    await two.prime();
    const first = new Set((await records.capacity.wantedBy(POOL_OWNER, 'here')).map(({ id }) => id));
    expect(first.size).toBe(slots);

    const got: SandboxRecord[] = [];
    const ownerOf = (at: number): Owner => ({ user: `user-${at}`, org: 'acme' });
    const claim = async (at: number) => {
      const cut = at / Math.floor(claims / crashes);
      const isCut = Number.isInteger(cut) && cut < crashes;
      const pool = at % 2 === 0 ? one : two;
      let own: Parameters<typeof createSandbox>[0] = { ...deps, pool };
      if (isCut) {
        const takes = cut % 2 === 0;
        const dying = takes ? mortal(deps, 'before', 'setObserved') : mortal(deps, 'after', 'takeWarm');
        own = { ...dying, pool: takes ? pool : { take: (...args) => takeBy(dying, args) } };
      }
      const asked = createSandbox(own, { owner: ownerOf(at) }, (sandbox) => Promise.resolve(sandbox));
      if (isCut) await expect(asked).rejects.toThrow('killed');
      else got.push(await asked);
    };
    const takeBy = async (dying: typeof deps, args: Parameters<WarmPool['take']>) => {
      const pool = openPool({ ...dying, sandboxes });
      await pool.prime();
      return pool.take(...args);
    };
    const waiting = Array.from({ length: claims }, (_, at) => at).values();
    await Promise.all(
      Array.from({ length: inFlight }, async () => {
        for (const at of waiting) await claim(at);
      }),
    );

    expect(got).toHaveLength(claims - crashes);
    expect(new Set(got.map(({ id }) => id)).size).toBe(claims - crashes);
    expect(got.filter(({ id }) => first.has(id)).length).toBeGreaterThan(0);
    for (const { id, owner } of got) {
      expect(await records.sandboxes.get(id)).toMatchObject({
        owner,
        desired: 'running',
        observed: 'running',
      });
    }

    // A slot that still starts would be as late as an interrupted claim.
    await Promise.all([one.refresh(), two.refresh()]);
    // Interrupted claims have no owner: the pass removes them, and the pool is full again.
    clock.advance(LATER_MS);
    const limits = { idle: 10 * LATER_MS, retention: 10 * LATER_MS };
    await keepLifecycle({
      ...deps,
      plane: memoryPreviewPlane({ clock }),
      tokens: plainTokens(),
      limits,
      failed: (_id, error) => void failures.push(error),
    });
    await one.refresh();
    expect(await one.stats()).toMatchObject({ warm: slots, assigned: claims - crashes });
    const warm = (await records.capacity.wantedBy(POOL_OWNER, 'here')).map(({ id }) => id);
    expect((await collect(sandboxes.list())).toSorted()).toEqual(
      [...warm, ...got.map(({ id }) => id)].toSorted(),
    );
    expect(failures.filter((error) => (error as Error).message !== 'killed')).toEqual([]);
    await Promise.all(pools.map((pool) => pool.close()));
  }, 300_000);
}
