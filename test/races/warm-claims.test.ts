import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { openPostgresRecords } from '#adapters/sql/postgres/open-postgres-records.ts';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { Records } from '#core/records.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { warmClaimsContract, type WarmClaimsHarness } from '#test/contracts/warm-claims.contract.ts';
import { memorySandboxes } from '#test/doubles/memory-sandboxes.ts';
import { collect } from '#test/support/collect.ts';
import { postgresMissing, startPostgres } from '#test/support/postgres.ts';
import { repetitions, suite } from '#test/support/suite.ts';

const MANY = { slots: 100, claims: repetitions(1_000), inFlight: 64, crashes: repetitions(50) };

async function harness(
  records: Records,
  provider: TestProvider,
  dispose: () => unknown,
): Promise<WarmClaimsHarness> {
  await records.migrate();
  return {
    records,
    sandboxes: provider,
    async dispose() {
      for (const id of await collect(provider.list())) await provider.destroy(id);
      await provider.close();
      await records.close();
      await dispose();
    },
  };
}

suite('claims from a warm pool, in an SQLite file', undefined, () => {
  warmClaimsContract(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'porthole-claims-'));
    const records = openSqliteRecords({ file: join(folder, 'records.db') });
    return harness(records, memorySandboxes().provider, () => rmSync(folder, { recursive: true }));
  }, MANY);
});

suite('claims from a warm pool, in PostgreSQL', postgresMissing, () => {
  warmClaimsContract(async () => {
    const server = await startPostgres();
    const records = openPostgresRecords({ url: server.url, poolSize: 8 });
    return harness(records, memorySandboxes().provider, () => server.stop());
  }, MANY);
});

suite('claims from a warm pool of local sandboxes', missingFor('bubblewrap'), () => {
  warmClaimsContract(
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'porthole-claims-'));
      const provider = withGuests(createLocalProvider({ dataDir: folder, isolation: 'bubblewrap' }));
      const records = openSqliteRecords({ file: join(folder, 'records.db') });
      return harness(records, provider, () => rmSync(folder, { recursive: true }));
    },
    { slots: 8, claims: 24, inFlight: 8, crashes: 4 },
  );
});
