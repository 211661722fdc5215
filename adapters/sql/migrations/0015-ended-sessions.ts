import type { Migration } from '../migration.ts';

export const endedSessions: Migration = {
  name: '0015-ended-sessions',
  async up(db, text) {
    await db.schema
      .createTable('ended_sessions')
      .addColumn('id', text, (column) => column.primaryKey())
      .addColumn('until', text, (column) => column.notNull())
      .execute();
    await db.schema.createIndex('ended_sessions_due').on('ended_sessions').column('until').execute();
  },
};
