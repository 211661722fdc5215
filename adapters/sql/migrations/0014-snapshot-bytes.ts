import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

export const snapshotBytes: Migration = {
  name: '0014-snapshot-bytes',
  async up(db) {
    await db.schema
      .alterTable('sandbox_snapshots')
      .addColumn('bytes', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
    // Existing rows are counted in characters; they expire within days.
    await sql`update sandbox_snapshots set bytes = length(source_code) + length(state)`.execute(db);
    await db.schema
      .createIndex('sandbox_snapshots_by_owner')
      .on('sandbox_snapshots')
      .columns(['owner_org', 'owner_user', 'expires_at', 'bytes'])
      .execute();
  },
};
