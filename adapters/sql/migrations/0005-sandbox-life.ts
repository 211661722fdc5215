import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

export const sandboxLife: Migration = {
  name: '0005-sandbox-life',
  async up(db, text) {
    for (const column of ['session_key', 'name', 'last_active_at', 'stopped_at']) {
      await db.schema.alterTable('sandboxes').addColumn(column, text).execute();
    }
    await db.schema
      .alterTable('sandboxes')
      .addColumn('tags', text, (column) => column.notNull().defaultTo('{}'))
      .execute();
    await db.schema
      .createIndex('sandboxes_of_owner')
      .on('sandboxes')
      .columns(['owner_org', 'owner_user', 'created_at', 'id'])
      .where(sql<boolean>`not (desired = 'destroyed' and observed = 'destroyed')`)
      .execute();
    // The unique index is authoritative for keys and names, whatever a transaction has read.
    for (const column of ['session_key', 'name']) {
      await db.schema
        .createIndex(`sandboxes_by_${column}`)
        .on('sandboxes')
        .columns(['owner_org', 'owner_user', column])
        .unique()
        .where(sql<boolean>`${sql.ref(column)} is not null and desired <> 'destroyed'`)
        .execute();
    }
  },
};
