import type { Migration } from '../migration.ts';

export const delegations: Migration = {
  name: '0012-delegations',
  async up(db, text) {
    await db.schema
      .createTable('delegations')
      .addColumn('id', text, (column) => column.primaryKey())
      .addColumn('sandbox_id', text, (column) => column.notNull())
      .addColumn('generation', 'integer', (column) => column.notNull())
      .addColumn('scopes', text, (column) => column.notNull())
      .addColumn('commands', text)
      .addColumn('paths', text)
      .addColumn('label', text)
      .addColumn('renewable', 'integer', (column) => column.notNull())
      .addColumn('ttl_ms', 'integer', (column) => column.notNull())
      .addColumn('created_at', text, (column) => column.notNull())
      .addColumn('expires_at', text, (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('delegations_by_sandbox')
      .on('delegations')
      .columns(['sandbox_id', 'created_at', 'id'])
      .execute();
    await db.schema.createIndex('delegations_due').on('delegations').column('expires_at').execute();

    await db.schema
      .createTable('sandbox_tokens')
      .addColumn('sandbox_id', text, (column) => column.notNull())
      .addColumn('generation', 'integer', (column) => column.notNull())
      .addColumn('version', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('sandbox_tokens_key', ['sandbox_id', 'generation'])
      .execute();
  },
};
