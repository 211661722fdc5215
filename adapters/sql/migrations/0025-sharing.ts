import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** What the organisation of a run's owner may do in it. */
export const sharing: Migration = {
  name: '0025-sharing',
  async up(db, text) {
    await db.schema
      .alterTable('runs')
      .addColumn('sharing', text, (column) => column.notNull().defaultTo('private'))
      .execute();
    await sql`create index runs_shared on runs (owner_org, created_at, id) where sharing <> 'private'`.execute(
      db,
    );
  },
};
