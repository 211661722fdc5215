import { type CreateTableBuilder, type RawBuilder, sql } from 'kysely';
import type { Migration } from '../migration.ts';

export const editor: Migration = {
  name: '0011-editor',
  async up(db, text) {
    await db.schema
      .createTable('tools')
      .addColumn('id', text, (column) => column.primaryKey())
      .addColumn('owner_org', text, (column) => column.notNull())
      .addColumn('owner_user', text, (column) => column.notNull())
      .addColumn('name', text, (column) => column.notNull())
      .addColumn('created_at', text, (column) => column.notNull())
      .execute();
    await db.schema.createIndex('tools_by_time').on('tools').columns(['created_at', 'id']).execute();
    await db.schema
      .createIndex('tools_by_owner')
      .on('tools')
      .columns(['owner_org', 'owner_user', 'created_at', 'id'])
      .execute();

    await source(db.schema.createTable('tool_versions'), text)
      .addColumn('id', text, (column) => column.primaryKey())
      .addColumn('tool_id', text, (column) => column.notNull())
      .addColumn('number', 'integer', (column) => column.notNull())
      .addColumn('created_at', text, (column) => column.notNull())
      .addColumn('created_by', text, (column) => column.notNull())
      .addUniqueConstraint('tool_versions_number', ['tool_id', 'number'])
      .execute();
    await db.schema
      .createIndex('tool_versions_by_tool')
      .on('tool_versions')
      .columns(['tool_id', 'created_at', 'id'])
      .execute();

    await source(db.schema.createTable('tool_drafts'), text)
      .addColumn('tool_id', text, (column) => column.primaryKey())
      .addColumn('version_id', text, (column) => column.notNull())
      .addColumn('revision', 'integer', (column) => column.notNull())
      .addColumn('updated_at', text, (column) => column.notNull())
      .addColumn('updated_by', text, (column) => column.notNull())
      .addColumn('lock_org', text)
      .addColumn('lock_user', text)
      .addColumn('lock_token_sha256', text)
      .addColumn('lock_expires_at', text)
      .execute();

    await source(db.schema.createTable('sandbox_snapshots'), text)
      .addColumn('id', text, (column) => column.primaryKey())
      .addColumn('tool_id', text, (column) => column.notNull())
      .addColumn('version_id', text, (column) => column.notNull())
      .addColumn('owner_org', text, (column) => column.notNull())
      .addColumn('owner_user', text, (column) => column.notNull())
      .addColumn('payload_bytes', 'integer', (column) => column.notNull())
      .addColumn('state', text, (column) => column.notNull())
      .addColumn('sandbox_id', text)
      .addColumn('created_at', text, (column) => column.notNull())
      .addColumn('created_by', text, (column) => column.notNull())
      .addColumn('expires_at', text, (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('sandbox_snapshots_by_expiry')
      .on('sandbox_snapshots')
      .columns(['expires_at', 'id'])
      .execute();

    await db.schema
      .createTable('tool_runs')
      .addColumn('id', text, (column) => column.primaryKey())
      .addColumn('tool_id', text, (column) => column.notNull())
      .addColumn('version_id', text, (column) => column.notNull())
      .addColumn('snapshot_id', text, (column) => column.notNull())
      .addColumn('snapshot_expires_at', text, (column) => column.notNull())
      .addColumn('owner_org', text, (column) => column.notNull())
      .addColumn('owner_user', text, (column) => column.notNull())
      .addColumn('action_id', text)
      .addColumn('parent_run_id', text)
      .addColumn('inputs', text, (column) => column.notNull())
      .addColumn('status', text, (column) => column.notNull())
      .addColumn('outputs', text, (column) => column.notNull())
      .addColumn('next_actions', text, (column) => column.notNull())
      .addColumn('error', text, (column) => column.notNull())
      .addColumn('stdout', text, (column) => column.notNull())
      .addColumn('stderr', text, (column) => column.notNull())
      .addColumn('created_at', text, (column) => column.notNull())
      .addColumn('created_by', text, (column) => column.notNull())
      .addColumn('ended_at', text)
      .addColumn('deadline', text, (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('tool_runs_by_tool')
      .on('tool_runs')
      .columns(['tool_id', 'created_at', 'id'])
      .execute();
    for (const columns of [['snapshot_id'], ['owner_org', 'owner_user'], ['deadline', 'id']]) {
      await db.schema
        .createIndex(`tool_runs_running_by_${columns[0]}`)
        .on('tool_runs')
        .columns(columns)
        .where(sql<boolean>`status = 'running'`)
        .execute();
    }
  },
};

/** What versions, drafts and snapshots have in common. */
function source(table: CreateTableBuilder<string>, text: RawBuilder<unknown>) {
  return table
    .addColumn('entrypoint', text, (column) => column.notNull())
    .addColumn('source_code', text, (column) => column.notNull())
    .addColumn('language', text, (column) => column.notNull())
    .addColumn('input_schema', text)
    .addColumn('settings_schema', text)
    .addColumn('usage_instructions', text, (column) => column.notNull());
}
