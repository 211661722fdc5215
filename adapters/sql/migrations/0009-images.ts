import type { Migration } from '../migration.ts';

export const images: Migration = {
  name: '0009-images',
  async up(db, text) {
    await db.schema
      .createTable('images')
      .addColumn('name', text, (column) => column.primaryKey())
      .addColumn('reference', text, (column) => column.notNull())
      .addColumn('description', text, (column) => column.notNull())
      .addColumn('languages', text, (column) => column.notNull())
      .addColumn('resources', text, (column) => column.notNull())
      .addColumn('put_at', text, (column) => column.notNull())
      .execute();
  },
};
