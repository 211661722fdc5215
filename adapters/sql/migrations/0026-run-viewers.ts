import type { Migration } from '../migration.ts';

/** Who has a shared run open. */
export const runViewers: Migration = {
  name: '0026-run-viewers',
  async up(db, text) {
    await db.schema
      .createTable('run_viewers')
      .addColumn('run_id', text, (column) => column.notNull())
      .addColumn('viewer', text, (column) => column.notNull())
      .addColumn('seen_at', text, (column) => column.notNull())
      .addPrimaryKeyConstraint('run_viewers_key', ['run_id', 'viewer'])
      .execute();
    await db.schema.createIndex('run_viewers_by_time').on('run_viewers').column('seen_at').execute();
  },
};
