import { type Kysely, sql } from 'kysely';
import type {
  NewToolRun,
  RunBeginning,
  RunBounds,
  SnapshotRecord,
  ToolRunRecords,
  ToolSnapshotRecords,
} from '#core/editor/editor-store.ts';
import { holdsLock } from '#core/editor/editor-limits.ts';
import { all, count, first, instantText, ownedBy } from './sql-dialect.ts';
import { keysetPage } from './keyset-page.ts';
import type { SqlSchema } from './schema.ts';
import { inTransaction, type SqlSession } from './sql-session.ts';
import { holdDraft } from './draft-records.ts';
import {
  endedColumns,
  runningRow,
  snapshotRow,
  snapshotSize,
  SUMMARY_COLUMNS,
  toSnapshot,
  toToolRun,
  toToolRunSummary,
} from './editor-rows.ts';

/** As a literal: only then do both databases use the indexes of running runs. */
const RUNNING = sql<boolean>`tool_runs.status = 'running'`;

export function toolRunRecords({ dialect, repeatable, transact }: SqlSession): ToolRunRecords {
  return {
    begin: (claim, run, snapshot, most) =>
      transact(async (trx): Promise<RunBeginning> => {
        const draft = await holdDraft(trx, dialect, claim.toolId);
        if (draft === undefined) return { kind: 'expired' };
        if (!holdsLock(draft, claim)) return { kind: 'not_locked', draft };
        await dialect.lockKey(trx, JSON.stringify(['tool_runs', run.owner.org, run.owner.user]));
        const refusal = await existing(trx, run, claim.at, most, snapshot);
        if (refusal !== undefined) return refusal;
        if (snapshot !== undefined) {
          await trx.insertInto('sandbox_snapshots').values(snapshotRow(snapshot)).execute();
        }
        await trx.insertInto('tool_runs').values(runningRow(run)).execute();
        return { kind: 'begun' };
      }),

    end: (id, outcome, at, kept = {}) =>
      repeatable((db) =>
        inTransaction(db, async (trx) => {
          const ended = await trx
            .updateTable('tool_runs')
            .set(endedColumns(outcome, at))
            .where('id', '=', id)
            .where('status', '=', 'running')
            .returning('snapshot_id')
            .executeTakeFirst();
          if (ended === undefined) return false;
          const columns = {
            ...(kept.sandboxId === undefined ? {} : { sandbox_id: kept.sandboxId }),
            ...(kept.state === undefined ? {} : { state: JSON.stringify(kept.state) }),
          };
          if (Object.keys(columns).length > 0) {
            await trx
              .updateTable('sandbox_snapshots')
              .set(columns)
              .where('id', '=', ended.snapshot_id)
              .execute();
          }
          if (kept.state !== undefined) await measure(trx, ended.snapshot_id);
          return true;
        }),
      ),

    get: (id) =>
      repeatable((db) => first(db.selectFrom('tool_runs').selectAll().where('id', '=', id), toToolRun)),

    list: (toolId, page) =>
      repeatable((db) =>
        keysetPage(
          db.selectFrom('tool_runs').select(SUMMARY_COLUMNS).where('tool_id', '=', toolId),
          page,
          toToolRunSummary,
        ),
      ),

    failOverdue: (now, error, limit) =>
      repeatable(async (db) => {
        const failed = await db
          .updateTable('tool_runs')
          .set({ status: 'failed', error: JSON.stringify(error), ended_at: instantText(now) })
          .where('id', 'in', (builder) =>
            builder
              .selectFrom('tool_runs')
              .select('id')
              .where(RUNNING)
              .where('deadline', '<=', instantText(now))
              .orderBy('deadline')
              .orderBy('id')
              .limit(limit),
          )
          .where('status', '=', 'running')
          .returning('id')
          .execute();
        return failed.length;
      }),

    removeOlder: (before, limit) =>
      repeatable(async (db) => {
        const removed = await db
          .deleteFrom('tool_runs')
          .where('id', 'in', (builder) =>
            builder
              .selectFrom('tool_runs')
              .select('id')
              .where('snapshot_expires_at', '<=', instantText(before))
              .where('status', '!=', 'running')
              .orderBy('snapshot_expires_at')
              .orderBy('id')
              .limit(limit),
          )
          .returning('id')
          .execute();
        return removed.length;
      }),
  };
}

/** Call after its state has changed. */
async function measure(trx: Kysely<SqlSchema>, id: string): Promise<void> {
  const row = await trx.selectFrom('sandbox_snapshots').selectAll().where('id', '=', id).executeTakeFirst();
  if (row === undefined) return;
  await trx
    .updateTable('sandbox_snapshots')
    .set({ bytes: snapshotSize(toSnapshot(row)) })
    .where('id', '=', id)
    .execute();
}

/** Why the run cannot begin, in this transaction; undefined if it can. */
async function existing(
  trx: Kysely<SqlSchema>,
  { snapshotId, owner }: NewToolRun,
  at: Date,
  most: RunBounds,
  made: SnapshotRecord | undefined,
): Promise<RunBeginning | undefined> {
  const now = instantText(at);
  if (made === undefined) {
    const found = await trx
      .selectFrom('sandbox_snapshots')
      .select('id')
      .where('id', '=', snapshotId)
      .where('expires_at', '>', now)
      .executeTakeFirst();
    if (found === undefined) return { kind: 'expired' };
  }
  const running = trx.selectFrom('tool_runs').where(RUNNING).where('deadline', '>', now);
  const other = await running.select('id').where('snapshot_id', '=', snapshotId).executeTakeFirst();
  if (other !== undefined) return { kind: 'busy', runId: other.id };
  const own = await count(running.where(ownedBy(owner)));
  if (own >= most.runs) return { kind: 'too_many', running: own };
  const { kept } = await trx
    .selectFrom('sandbox_snapshots')
    .select(sql<number | string>`coalesce(sum(bytes), 0)`.as('kept'))
    .where(ownedBy(owner))
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow();
  const bytes = Number(kept) + (made === undefined ? 0 : snapshotSize(made));
  return bytes > most.snapshotBytes ? { kind: 'full', bytes } : undefined;
}

export function toolSnapshotRecords({ dialect, repeatable }: SqlSession): ToolSnapshotRecords {
  return {
    underWay: (owner, now) =>
      repeatable(async (db) => {
        const running = db
          .selectFrom('tool_runs')
          .select('snapshot_id')
          .where(RUNNING)
          .where(ownedBy(owner))
          .where('deadline', '>', instantText(now));
        return new Set(await all(running, ({ snapshot_id }) => snapshot_id));
      }),

    get: (id) =>
      repeatable((db) =>
        first(db.selectFrom('sandbox_snapshots').selectAll().where('id', '=', id), toSnapshot),
      ),

    expired: (now, limit) =>
      repeatable((db) => {
        const expired = db
          .selectFrom('sandbox_snapshots')
          .select('id')
          .where('expires_at', '<=', instantText(now))
          .where(hasNoActiveRun(now));
        return all(expired.orderBy('expires_at').orderBy('id').limit(limit), ({ id }) => id);
      }),

    remove: (ids, now) =>
      repeatable(async (db) => {
        const removed = await db
          .deleteFrom('sandbox_snapshots')
          .where(dialect.among('id', ids))
          .where('expires_at', '<=', instantText(now))
          .where(hasNoActiveRun(now))
          .returning('id')
          .execute();
        return removed.length;
      }),
  };
}

/** Condition: the snapshot has no active run. */
function hasNoActiveRun(now: Date) {
  const running = sql`${RUNNING} and tool_runs.deadline > ${instantText(now)}`;
  return sql<boolean>`not exists (select 1 from tool_runs where tool_runs.snapshot_id = sandbox_snapshots.id and ${running})`;
}
