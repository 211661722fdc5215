import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Owner } from '#base/clock-and-ids.ts';
import type { WarmPool, WarmPoolConfig } from '#core/sandboxes/warm-pool.ts';
import { poolConfig, settled } from '#test/support/warm-pools.ts';

/** An empty pool, and the platform of its sandboxes. */
export interface WarmPoolHarness {
  /** An instance on the same sandboxes, like that of another server. The harness closes it. */
  open(config: WarmPoolConfig): WarmPool;
  /** Whether the sandbox runs, according to its provider. */
  runs(id: string): Promise<boolean>;
  /** Ends every instance and removes every sandbox. */
  dispose(): Promise<void>;
}

const ALICE: Owner = { user: 'alice', org: 'acme' };
const PAIR = poolConfig({ warmTarget: 2 });

export interface WarmPoolCapabilities {
  /** Whether `take` returns ready sandboxes, or the provider's `create` does. */
  readonly hands: boolean;
  /** `provider`: without what the pool does alike with every provider. @default 'all' */
  readonly part?: 'all' | 'provider';
}

export function warmPoolContract(
  open: () => Promise<WarmPoolHarness>,
  { hands, part = 'all' }: WarmPoolCapabilities,
): void {
  let harness: WarmPoolHarness;
  beforeEach(async () => {
    harness = await open();
  });
  afterEach(() => harness.dispose());

  if (part === 'all') {
    test('reports that it is empty, and how it is configured', async () => {
      const config = poolConfig({ maxInstances: 7 });
      expect(await harness.open(config).stats()).toEqual({
        warm: 0,
        assigned: 0,
        total: 0,
        config: { warmTarget: 3, refreshInterval: 10_000, maxInstances: 7, scaleBatchSize: 5 },
        maxInstances: 7,
      });
      expect(await harness.open(poolConfig()).stats()).toMatchObject({ maxInstances: null });
    });

    test('priming it brings it to its target, and again changes nothing', async () => {
      const pool = harness.open(PAIR);
      for (let time = 0; time < 2; time += 1) {
        await pool.prime();
        await settled(pool, 2);
        expect(await pool.stats()).toMatchObject({ warm: 2, assigned: 0, total: 2 });
      }
    });

    test('makes no sandbox without a target', async () => {
      const pool = harness.open(poolConfig({ warmTarget: 0 }));
      await pool.prime();
      await pool.refresh();
      expect(await pool.stats()).toMatchObject({ warm: 0, total: 0 });
      expect(await pool.take(ALICE)).toBeUndefined();
    });

    test('never goes past what may run in all', async () => {
      const pool = harness.open(poolConfig({ maxInstances: 1 }));
      await pool.prime();
      await settled(pool, 1);
      expect(await pool.stats()).toMatchObject({ warm: 1, total: 1 });
    });

    test('moves to another target when that is configured', async () => {
      const before = harness.open(PAIR);
      await before.prime();
      await settled(before, 2);
      await before.close();
      const after = harness.open(poolConfig({ warmTarget: 1 }));
      await after.prime();
      await settled(after, 1);
      expect(await after.stats()).toMatchObject({ warm: 1, total: 1 });
    });
  }

  test('is empty after it is shut down, and stays empty until it is primed', async () => {
    const pool = harness.open(PAIR);
    await pool.prime();
    await settled(pool, 2);
    await pool.drain();
    await settled(pool, 0);
    await pool.refresh();
    expect(await pool.take(ALICE)).toBeUndefined();
    expect(await pool.stats()).toMatchObject({ warm: 0, assigned: 0, total: 0 });
    await pool.prime();
    await settled(pool, 2);
    expect(await pool.stats()).toMatchObject({ warm: 2 });
  });

  if (!hands) {
    test('hands none out itself', async () => {
      const pool = harness.open(poolConfig({ warmTarget: 1 }));
      await pool.prime();
      await settled(pool, 1);
      expect(await pool.take(ALICE)).toBeUndefined();
    });
    return;
  }

  describe('what is taken', () => {
    test('runs, is its owner’s, and never comes back', async () => {
      const pool = harness.open(poolConfig());
      await pool.prime();
      const taken = await pool.take(ALICE);
      expect(taken).toMatchObject({ owner: ALICE, image: null, desired: 'running', observed: 'creating' });
      expect(await harness.runs(taken?.id ?? '')).toBe(true);
      await pool.refresh();
      await pool.drain();
      expect(await harness.runs(taken?.id ?? '')).toBe(true);
      expect(await pool.stats()).toMatchObject({ warm: 0, assigned: 1, total: 1 });
    });

    if (part === 'provider') return;

    test('is another one each time, however many ask at once', async () => {
      const config = poolConfig({ warmTarget: 5 });
      const [one, two] = [harness.open(config), harness.open(config)];
      await one.prime();
      await two.prime();
      const taken = await Promise.all(
        Array.from({ length: 50 }, (_, at) => (at % 2 ? one : two).take({ user: `user-${at}`, org: 'acme' })),
      );
      const ids = taken.flatMap((sandbox) => (sandbox === undefined ? [] : [sandbox.id]));
      expect(ids.length).toBeGreaterThan(0);
      expect(new Set(ids).size).toBe(ids.length);
    });

    test('is replaced without anybody asking for it', async () => {
      const pool = harness.open(poolConfig());
      await pool.prime();
      await pool.take(ALICE);
      await settled(pool, 3);
      expect(await pool.stats()).toMatchObject({ warm: 3, assigned: 1, total: 4 });
    });
  });

  test('makes with two instances at once what one instance would make', async () => {
    const config = poolConfig({ warmTarget: 7, scaleBatchSize: 2 });
    const [one, two] = [harness.open(config), harness.open(config)];
    await Promise.all([one.prime(), two.prime()]);
    await one.refresh();
    expect(await two.stats()).toMatchObject({ warm: 7, total: 7 });
  });
}
