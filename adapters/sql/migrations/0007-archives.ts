import type { Migration } from '../migration.ts';

export const archives: Migration = {
  name: '0007-archives',
  async up(db, text) {
    await db.schema
      .createTable('archives')
      .addColumn('id', text, (column) => column.primaryKey())
      .addColumn('sandbox_id', text, (column) => column.notNull())
      .addColumn('generation', 'integer', (column) => column.notNull())
      .addColumn('name', text)
      .addColumn('image', text)
      .addColumn('owner_user', text, (column) => column.notNull())
      .addColumn('owner_org', text, (column) => column.notNull())
      .addColumn('object_key', text, (column) => column.notNull())
      .addColumn('size', 'bigint', (column) => column.notNull())
      .addColumn('left_out', 'integer', (column) => column.notNull())
      .addColumn('created_at', text, (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('archives_of_owner')
      .on('archives')
      .columns(['owner_org', 'owner_user', 'created_at', 'id'])
      .execute();
    await db.schema.createIndex('archives_by_time').on('archives').columns(['created_at', 'id']).execute();
  },
};
