import type { Kysely, Selectable } from 'kysely';
import { PortholeError } from '#core/errors.ts';
import type { Owner } from '#core/shared/clock-and-ids.ts';
import type { RunRecord, RunRecords } from '#core/runs/run-records.ts';
import { withdrawWaiting } from './sql-approvals.ts';
import { instantText } from './sql-dialect.ts';
import { keysetPage } from './keyset-page.ts';
import type { RunsTable, SqlSchema } from './schema.ts';
import type { SqlSession } from './sql-session.ts';
import { holdRun, publishingTransaction } from './publishing-transaction.ts';

export function runRecords(session: SqlSession): RunRecords {
  const { dialect, once, repeatable } = session;
  return {
    create: (run, events = [], most = null) =>
      once((db) =>
        publishingTransaction(session, db, async (trx, publish) => {
          if (most !== null) {
            const { org, user } = run.owner;
            await dialect.lockKey(trx, JSON.stringify(['runs', org, user]));
            if ((await activeRuns(trx, run.owner)) >= most) return false;
          }
          const created = await trx
            .insertInto('runs')
            .values(toRow(run))
            .onConflict((conflict) => conflict.column('id').doNothing())
            .returning('id')
            .executeTakeFirst();
          if (!created) {
            throw new PortholeError('internal_error', `the run id ${run.id} is taken: make a fresh one`);
          }
          await publish(run.id, events, run.createdAt);
          return true;
        }),
      ),

    countActive: (owner) => repeatable((db) => activeRuns(db, owner)),

    get: (id) =>
      repeatable(async (db) => {
        const row = await db.selectFrom('runs').selectAll().where('id', '=', id).executeTakeFirst();
        return row && toRecord(row);
      }),

    list: (owner, page) =>
      repeatable((db) => {
        const runs = db.selectFrom('runs').selectAll();
        const own = owner
          ? runs.where('owner_org', '=', owner.org).where('owner_user', '=', owner.user)
          : runs;
        return keysetPage(own, page, toRecord);
      }),

    complete: (id, at, published = []) =>
      repeatable(async (db) => {
        const completed = await publishingTransaction(session, db, async (trx, publish) => {
          await holdRun(trx, dialect, id);
          const row = await trx
            .updateTable('runs')
            .set({ status: 'completed', completed_at: instantText(at) })
            .where('id', '=', id)
            .where('status', '=', 'running')
            .returningAll()
            .executeTakeFirst();
          if (row === undefined) return undefined;
          await withdrawWaiting(trx, publish, id, at);
          await publish(id, published, at);
          return row;
        });
        // A completed run never changes again, so this read need not be in the transaction.
        const row =
          completed ?? (await db.selectFrom('runs').selectAll().where('id', '=', id).executeTakeFirst());
        return row && toRecord(row);
      }),

    // Not idempotent: each rotation invalidates the token of the previous one.
    rotateToken: (id) =>
      once(async (db) => {
        const row = await db
          .updateTable('runs')
          .set(({ eb }) => ({ agent_token_version: eb('agent_token_version', '+', 1) }))
          .where('id', '=', id)
          .where('status', '=', 'running')
          .returningAll()
          .executeTakeFirst();
        return row && toRecord(row);
      }),

    completedAmong: (ids) =>
      repeatable(async (db) => {
        const rows = await db
          .selectFrom('runs')
          .select('id')
          .where(dialect.among('id', ids))
          .where('status', '=', 'completed')
          .execute();
        return new Set(rows.map((row) => row.id));
      }),

    inSandbox: (sandboxId) =>
      repeatable(async (db) => {
        const rows = await db
          .selectFrom('runs')
          .select('id')
          .where('sandbox_id', '=', sandboxId)
          .orderBy('id')
          .execute();
        return rows.map((row) => row.id);
      }),
  };
}

async function activeRuns(db: Kysely<SqlSchema>, { org, user }: Owner): Promise<number> {
  const { count } = await db
    .selectFrom('runs')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('owner_org', '=', org)
    .where('owner_user', '=', user)
    .where('status', '=', 'running')
    .executeTakeFirstOrThrow();
  return Number(count);
}

function toRow(run: RunRecord): RunsTable {
  return {
    id: run.id,
    owner_org: run.owner.org,
    owner_user: run.owner.user,
    title: run.title,
    sandbox_id: run.sandboxId,
    auto_approve_tools: run.autoApproveTools ? 1 : 0,
    status: run.status,
    token_kid: run.tokenKid,
    agent_token_version: run.tokenVersion,
    created_at: instantText(run.createdAt),
    completed_at: run.completedAt && instantText(run.completedAt),
  };
}

function toRecord(row: Selectable<RunsTable>): RunRecord {
  return {
    id: row.id,
    owner: { user: row.owner_user, org: row.owner_org },
    title: row.title,
    sandboxId: row.sandbox_id,
    autoApproveTools: row.auto_approve_tools === 1,
    status: row.status,
    tokenKid: row.token_kid,
    tokenVersion: row.agent_token_version,
    createdAt: new Date(row.created_at),
    completedAt: row.completed_at === null ? null : new Date(row.completed_at),
  };
}
