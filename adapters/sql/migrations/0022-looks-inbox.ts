import type { Migration } from '../migration.ts';

/** Kept looks at previews, and the comments of people with the agents' replies; sealed. */
export const looksInbox: Migration = {
  name: '0022-looks-inbox',
  async up(db, text) {
    await db.schema
      .createTable('looks')
      .addColumn('id', text, (column) => column.primaryKey())
      .addColumn('run_id', text, (column) => column.notNull())
      .addColumn('page', text, (column) => column.notNull())
      .addColumn('at', text, (column) => column.notNull())
      .addColumn('content', text, (column) => column.notNull())
      .addColumn('picture', text)
      .execute();
    await db.schema.createIndex('looks_by_run').on('looks').columns(['run_id', 'at', 'id']).execute();
    await db.schema.createIndex('looks_by_time').on('looks').column('at').execute();
    await db.schema
      .createTable('inbox_messages')
      .addColumn('id', text, (column) => column.primaryKey())
      .addColumn('run_id', text, (column) => column.notNull())
      .addColumn('reply_to', text)
      .addColumn('by', text, (column) => column.notNull())
      .addColumn('at', text, (column) => column.notNull())
      .addColumn('read_at', text)
      .addColumn('content', text, (column) => column.notNull())
      .addColumn('picture', text)
      .execute();
    await db.schema
      .createIndex('inbox_messages_by_run')
      .on('inbox_messages')
      .columns(['run_id', 'at', 'id'])
      .execute();
  },
};
