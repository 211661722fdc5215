import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

export const sandboxesByOwner: Migration = {
  name: '0004-sandboxes-by-owner',
  async up(db) {
    await db.schema
      .createIndex('sandboxes_by_owner')
      .on('sandboxes')
      .columns(['place', 'owner_org', 'owner_user', 'created_at', 'id'])
      .where(sql<boolean>`not (desired = 'destroyed' and observed = 'destroyed')`)
      .execute();
  },
};
