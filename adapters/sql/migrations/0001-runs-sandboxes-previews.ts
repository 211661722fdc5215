import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

export const runsSandboxesPreviews: Migration = {
  name: '0001-runs-sandboxes-previews',
  async up(db, text) {
    await db.schema
      .createTable('runs')
      .addColumn('id', text, (column) => column.primaryKey())
      .addColumn('owner_org', text, (column) => column.notNull())
      .addColumn('owner_user', text, (column) => column.notNull())
      .addColumn('title', text)
      .addColumn('sandbox_id', text, (column) => column.notNull())
      .addColumn('auto_approve_tools', 'integer', (column) => column.notNull())
      .addColumn('status', text, (column) => column.notNull())
      .addColumn('token_kid', text, (column) => column.notNull())
      .addColumn('created_at', text, (column) => column.notNull())
      .addColumn('completed_at', text)
      .execute();
    await db.schema.createIndex('runs_by_time').on('runs').columns(['created_at', 'id']).execute();
    await db.schema
      .createIndex('runs_by_owner')
      .on('runs')
      .columns(['owner_org', 'owner_user', 'created_at', 'id'])
      .execute();

    await db.schema
      .createTable('sandboxes')
      .addColumn('id', text, (column) => column.primaryKey())
      .addColumn('owner_org', text, (column) => column.notNull())
      .addColumn('owner_user', text, (column) => column.notNull())
      .addColumn('image', text)
      .addColumn('place', text, (column) => column.notNull())
      .addColumn('desired', text, (column) => column.notNull())
      .addColumn('observed', text, (column) => column.notNull())
      .addColumn('created_at', text, (column) => column.notNull())
      .execute();
    // Destroyed sandboxes are kept forever, so queries for live ones need an index.
    await db.schema
      .createIndex('sandboxes_live')
      .on('sandboxes')
      .columns(['created_at', 'id'])
      .where(sql<boolean>`not (desired = 'destroyed' and observed = 'destroyed')`)
      .execute();

    await db.schema
      .createTable('preview_generations')
      .addColumn('run_id', text, (column) => column.notNull())
      .addColumn('target_port', 'integer', (column) => column.notNull())
      .addColumn('generation', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('preview_generations_key', ['run_id', 'target_port'])
      .execute();

    await db.schema
      .createTable('preview_tombstones')
      .addColumn('token_sha256', text, (column) => column.primaryKey())
      .addColumn('run_id', text, (column) => column.notNull())
      .addColumn('reason', text, (column) => column.notNull())
      .addColumn('ended_at', text, (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('preview_tombstones_by_time')
      .on('preview_tombstones')
      .column('ended_at')
      .execute();
  },
};
