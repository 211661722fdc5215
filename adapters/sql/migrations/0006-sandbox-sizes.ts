import type { Migration } from '../migration.ts';

export const sandboxSizes: Migration = {
  name: '0006-sandbox-sizes',
  async up(db, text) {
    // Thousandths of a CPU, so that sums are exact; null: the provider's default.
    for (const column of ['cpu_millis', 'memory_mb', 'disk_mb']) {
      await db.schema.alterTable('sandboxes').addColumn(column, 'integer').execute();
    }
    await db.schema
      .alterTable('sandboxes')
      .addColumn('network', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
    await db.schema
      .alterTable('sandboxes')
      .addColumn('env', text, (column) => column.notNull().defaultTo('{}'))
      .execute();
  },
};
