import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { SandboxService, type SandboxServiceDeps } from '#core/sandboxes/sandbox-service.ts';
import type { Records } from '#core/records.ts';
import type { TestProvider } from './with-guests.ts';

/** A service that has nothing but a provider, and what else `deps` name. */
export async function openSandboxService(
  deps: { readonly provider: TestProvider } & Partial<SandboxServiceDeps>,
): Promise<SandboxService> {
  return new SandboxService({
    guests: deps.provider,
    records: deps.records ?? (await memoryRecords()),
    clock: systemClock,
    publisher: { publish: () => undefined },
    activity: { begin: () => () => undefined },
    provisionAccess: () => Promise.resolve(),
    images: [],
    skillsFailed: (_id, error) => {
      throw error;
    },
    ...deps,
  });
}

async function memoryRecords(): Promise<Records> {
  const records = openSqliteRecords({ file: ':memory:' });
  await records.migrate();
  return records;
}
