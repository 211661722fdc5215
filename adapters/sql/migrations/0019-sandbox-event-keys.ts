import type { Migration } from '../migration.ts';

/** Several instances may follow one guest: an event with a key is stored once. */
export const sandboxEventKeys: Migration = {
  name: '0019-sandbox-event-keys',
  async up(db, text) {
    await db.schema.alterTable('sandbox_events').addColumn('key', text).execute();
    await db.schema
      .createIndex('sandbox_events_once')
      .on('sandbox_events')
      .columns(['sandbox_id', 'generation', 'key'])
      .unique()
      .execute();
  },
};
