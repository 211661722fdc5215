import type { Migration } from '../migration.ts';

export const skills: Migration = {
  name: '0010-skills',
  async up(db, text, bytes) {
    await db.schema
      .createTable('skills')
      .addColumn('owner_org', text, (column) => column.notNull())
      .addColumn('owner_user', text, (column) => column.notNull())
      .addColumn('name', text, (column) => column.notNull())
      .addColumn('description', text, (column) => column.notNull())
      .addColumn('digest', text, (column) => column.notNull())
      .addColumn('size', 'integer', (column) => column.notNull())
      .addColumn('files', text, (column) => column.notNull())
      .addColumn('archive', bytes, (column) => column.notNull())
      .addColumn('put_at', text, (column) => column.notNull())
      .addPrimaryKeyConstraint('skills_key', ['owner_org', 'owner_user', 'name'])
      .execute();
    await db.schema
      .alterTable('sandboxes')
      .addColumn('skills', text, (column) => column.notNull().defaultTo('[]'))
      .execute();
  },
};
