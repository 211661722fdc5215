import type { Migration } from '../migration.ts';

export const networkPolicies: Migration = {
  name: '0018-network-policies',
  async up(db, text) {
    await db.schema.alterTable('sandboxes').addColumn('network_policy', text).execute();
  },
};
