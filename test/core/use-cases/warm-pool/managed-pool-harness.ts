import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { randomIds, systemClock } from '#adapters/system/clock-and-random-ids.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { Records } from '#core/records.ts';
import type { TestProvider } from '#test/support/with-guests.ts';
import type { WarmPool, WarmPoolConfig } from '#core/sandboxes/warm-pool.ts';
import { ManagedPool } from '#core/sandboxes/managed-pool.ts';
import type { WarmPoolHarness } from '#test/contracts/warm-pool.contract.ts';
import { collect } from '#test/support/collect.ts';

export interface ManagedPoolHarness extends WarmPoolHarness {
  readonly records: Records;
  readonly sandboxes: TestProvider;
  /** Background failures reported by pools. */
  readonly failures: unknown[];
}

/**
 * Pools on one provider and one empty database.
 * @param dispose releases the provider's resources
 */
export async function openManagedPools(
  sandboxes: TestProvider,
  dispose: () => Promise<void>,
  clock: Clock = systemClock,
): Promise<ManagedPoolHarness> {
  const records = openSqliteRecords({ file: ':memory:' });
  await records.migrate();
  const pools: WarmPool[] = [];
  const failures: unknown[] = [];
  const harness = { records, sandboxes, clock, ids: randomIds, installationId: 'here' };
  return {
    records,
    sandboxes,
    failures,
    open(config: WarmPoolConfig) {
      const pool = new ManagedPool({ ...harness, config, failed: (error) => void failures.push(error) });
      pools.push(pool);
      return pool;
    },
    runs: async (id) => (await sandboxes.inspect(id)).state === 'running',
    async dispose() {
      for (const pool of pools) await pool.close();
      for (const id of await collect(sandboxes.list())) await sandboxes.destroy(id);
      await sandboxes.close();
      await records.close();
      await dispose();
    },
  };
}
