import type { Migration } from '../migration.ts';

export const sandboxGenerations: Migration = {
  name: '0003-sandbox-generations',
  async up(db) {
    await db.schema
      .alterTable('sandboxes')
      .addColumn('generation', 'integer', (column) => column.notNull().defaultTo(1))
      .execute();
  },
};
