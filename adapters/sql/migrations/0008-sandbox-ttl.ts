import type { Migration } from '../migration.ts';

export const sandboxTtl: Migration = {
  name: '0008-sandbox-ttl',
  async up(db, text) {
    await db.schema.alterTable('sandboxes').addColumn('ttl_seconds', 'integer').execute();
    await db.schema.alterTable('sandboxes').addColumn('heartbeat_at', text).execute();
  },
};
