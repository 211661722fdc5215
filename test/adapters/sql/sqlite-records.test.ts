import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { Records } from '#core/records.ts';
import { type RecordsFixture, recordsContract } from '#test/contracts/records.contract.ts';
import { sealsOf } from '#test/support/sealed-texts.ts';

async function fixture(file?: string): Promise<RecordsFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'porthole-records-'));
  const opened: Records[] = [];
  return {
    open() {
      const records = openSqliteRecords({
        file: file ?? join(folder, 'records.db'),
        seals: sealsOf('key-1'),
      });
      opened.push(records);
      return records;
    },
    async dispose() {
      await Promise.all(opened.map((records) => records.close()));
      await rm(folder, { recursive: true });
    },
  };
}

recordsContract('records in an SQLite file', undefined, () => fixture(), {
  runs: 60,
  peers: true,
  wakesPeers: false,
});
recordsContract('records in memory', undefined, () => fixture(':memory:'), {
  runs: 20,
  peers: false,
  wakesPeers: false,
});
