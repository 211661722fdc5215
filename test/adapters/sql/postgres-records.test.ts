import { afterAll, beforeAll } from '@jest/globals';
import { Client } from 'pg';
import { sealsOf } from '#test/support/sealed-texts.ts';
import { openPostgresRecords } from '#adapters/sql/postgres/open-postgres-records.ts';
import type { Records } from '#core/records.ts';
import { type RecordsFixture, recordsContract } from '#test/contracts/records.contract.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '#test/support/postgres.ts';

let server: TestPostgres | undefined;
let admin: Client | undefined;
let schemas = 0;

beforeAll(async () => {
  if (postgresMissing !== undefined) return;
  server = await startPostgres();
  admin = new Client({ connectionString: server.socketUrl });
  await admin.connect();
});
afterAll(async () => {
  await admin?.end();
  await server?.stop();
});

/**
 * A schema, which replaces a database for Porthole: a new one, or else the common one without its
 * rows, since migrations would take most of the time.
 */
async function fixture(isNew = false): Promise<RecordsFixture> {
  if (!server || !admin) throw new Error(postgresMissing);
  const schema = isNew ? `records_${(schemas += 1)}` : 'records';
  const url = `${server.socketUrl}&options=${encodeURIComponent(`-c search_path=${schema}`)}`;
  await admin.query(`create schema if not exists ${schema}`);
  const { rows } = await admin.query<{ name: string }>(
    "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = $1 and tablename not like 'schema\\_%'",
    [schema],
  );
  // A tenth of a truncation, which makes new files for every table and index. Foreign keys are off.
  const deletions = rows.map(({ name }) => `delete from ${name}`);
  await admin.query(['set session_replication_role = replica', ...deletions].join('; '));
  const opened: Records[] = [];
  return {
    open() {
      const records = openPostgresRecords({ url, poolSize: 4, seals: sealsOf('key-1') });
      opened.push(records);
      return records;
    },
    async dispose() {
      await Promise.all(opened.map((records) => records.close()));
    },
  };
}

recordsContract('records in PostgreSQL', postgresMissing, fixture, {
  runs: 30,
  peers: true,
  wakesPeers: true,
});
