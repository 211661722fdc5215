import type { Migration } from '../migration.ts';

/** Secrets that the broker inserts, sealed as the environment is. */
export const sandboxSecrets: Migration = {
  name: '0021-sandbox-secrets',
  async up(db, text) {
    await db.schema.alterTable('sandboxes').addColumn('secrets', text).execute();
  },
};
