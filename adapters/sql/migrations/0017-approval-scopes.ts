import type { Kysely } from 'kysely';
import type { Migration } from '../migration.ts';
import type { SqlSchema } from '../schema.ts';

export const approvalScopes: Migration = {
  name: '0017-approval-scopes',
  async up(db, text) {
    // 0: any port, the meaning of all earlier policies.
    await db.schema
      .alterTable('approval_policies')
      .addColumn('target_port', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
    await db.schema.dropIndex('approval_policies_once').execute();
    await db.schema
      .createIndex('approval_policies_once')
      .on('approval_policies')
      .columns(['owner_org', 'owner_user', 'tool', 'run_id', 'target_port'])
      .unique()
      .execute();
    await db.schema
      .createTable('approval_denials')
      .addColumn('run_id', text, (column) => column.notNull())
      .addColumn('tool', text, (column) => column.notNull())
      .addColumn('target_port', 'integer', (column) => column.notNull())
      .addColumn('rotate', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('approval_denials_key', ['run_id', 'tool', 'target_port', 'rotate'])
      .execute();
    await keepEarlierDenials(db);
  },
};

/**
 * Copies the denials in the timelines that no approval has revoked: earlier policies must not
 * override them either.
 */
async function keepEarlierDenials(untyped: Kysely<unknown>): Promise<void> {
  const db = untyped as Kysely<SqlSchema>;
  const decided = await db
    .selectFrom('run_events')
    .select(['run_id', 'type', 'data'])
    .where('type', 'in', ['tool.denied', 'tool.approved'])
    .orderBy('run_id')
    .orderBy('seq')
    .execute();
  for (const { run_id: runId, type, data } of decided) {
    const { source, tool, target_port: port, rotate } = JSON.parse(data) as Record<string, unknown>;
    if (source !== 'person') continue;
    const about = { run_id: runId, tool: String(tool), target_port: typeof port === 'number' ? port : 0 };
    if (type === 'tool.denied') {
      await db
        .insertInto('approval_denials')
        .values({ ...about, rotate: rotate === true ? 1 : 0 })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      continue;
    }
    await db
      .deleteFrom('approval_denials')
      .where('run_id', '=', runId)
      .where('tool', '=', about.tool)
      .where('target_port', '=', about.target_port)
      .where('rotate', '<=', rotate === true ? 1 : 0)
      .execute();
  }
}
