import type { Migration } from '../migration.ts';

export const sandboxEvents: Migration = {
  name: '0013-sandbox-events',
  async up(db, text) {
    await db.schema
      .createTable('sandbox_events')
      .addColumn('sandbox_id', text, (column) => column.notNull())
      .addColumn('seq', 'integer', (column) => column.notNull())
      .addColumn('generation', 'integer', (column) => column.notNull())
      .addColumn('type', text, (column) => column.notNull())
      .addColumn('at', text, (column) => column.notNull())
      .addColumn('data', text, (column) => column.notNull())
      .addPrimaryKeyConstraint('sandbox_events_key', ['sandbox_id', 'seq'])
      .execute();
    await db.schema.createIndex('sandbox_events_due').on('sandbox_events').column('at').execute();

    await db.schema
      .alterTable('sandboxes')
      .addColumn('delete_with_thread', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
  },
};
