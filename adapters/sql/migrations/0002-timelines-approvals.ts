import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

export const timelinesApprovals: Migration = {
  name: '0002-timelines-approvals',
  async up(db, text) {
    await db.schema.createIndex('runs_by_sandbox').on('runs').columns(['sandbox_id', 'id']).execute();

    await db.schema
      .createTable('run_events')
      .addColumn('run_id', text, (column) => column.notNull())
      .addColumn('seq', 'integer', (column) => column.notNull())
      .addColumn('type', text, (column) => column.notNull())
      .addColumn('at', text, (column) => column.notNull())
      .addColumn('data', text, (column) => column.notNull())
      .addColumn('key', text)
      .addPrimaryKeyConstraint('run_events_key', ['run_id', 'seq'])
      .execute();
    // Both databases allow any number of rows without a key.
    await db.schema
      .createIndex('run_events_once')
      .on('run_events')
      .columns(['run_id', 'key'])
      .unique()
      .execute();

    await db.schema
      .createTable('approvals')
      .addColumn('id', text, (column) => column.primaryKey())
      .addColumn('run_id', text, (column) => column.notNull())
      .addColumn('tool', text, (column) => column.notNull())
      .addColumn('args', text, (column) => column.notNull())
      .addColumn('message', text, (column) => column.notNull())
      .addColumn('status', text, (column) => column.notNull())
      .addColumn('requested_at', text, (column) => column.notNull())
      .addColumn('expires_at', text, (column) => column.notNull())
      .addColumn('ended_at', text)
      .addColumn('source', text)
      .addColumn('decided_by', text)
      .addColumn('scope', text)
      .addColumn('reason', text)
      .addColumn('taken_at', text)
      .execute();
    await db.schema
      .createIndex('approvals_waiting')
      .on('approvals')
      .columns(['run_id', 'tool', 'args'])
      .unique()
      .where(sql<boolean>`status = 'waiting'`)
      .execute();
    await db.schema
      .createIndex('approvals_due')
      .on('approvals')
      .column('expires_at')
      .where(sql<boolean>`status = 'waiting'`)
      .execute();
    await db.schema
      .createIndex('approvals_by_run')
      .on('approvals')
      .columns(['run_id', 'requested_at', 'id'])
      .execute();
    await db.schema.createIndex('approvals_by_end').on('approvals').column('ended_at').execute();

    await db.schema
      .createTable('approval_waiters')
      .addColumn('approval_id', text, (column) => column.notNull())
      .addColumn('waiter', text, (column) => column.notNull())
      .addColumn('until', text, (column) => column.notNull())
      .addPrimaryKeyConstraint('approval_waiters_key', ['approval_id', 'waiter'])
      .execute();

    await db.schema
      .createTable('approval_policies')
      .addColumn('id', text, (column) => column.primaryKey())
      .addColumn('owner_org', text, (column) => column.notNull())
      .addColumn('owner_user', text, (column) => column.notNull())
      .addColumn('tool', text, (column) => column.notNull())
      .addColumn('run_id', text, (column) => column.notNull())
      .addColumn('created_at', text, (column) => column.notNull())
      .addColumn('created_by', text, (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('approval_policies_once')
      .on('approval_policies')
      .columns(['owner_org', 'owner_user', 'tool', 'run_id'])
      .unique()
      .execute();
    await db.schema
      .createIndex('approval_policies_by_time')
      .on('approval_policies')
      .columns(['created_at', 'id'])
      .execute();
    await db.schema
      .createIndex('approval_policies_by_owner')
      .on('approval_policies')
      .columns(['owner_org', 'owner_user', 'created_at', 'id'])
      .execute();
  },
};
