import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { PortholeError } from '#base/errors.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import { type RunFilter, type RunRecord, type RunRecords, type RunSort } from '#core/runs/run-records.ts';
import { SHARING } from '#protocol/settings/shared-values.ts';
import { addAuditEvents } from './audit-records.ts';
import { withdrawWaiting } from './sql-approvals.ts';
import { all, count, first, instantText, ownedBy, type SqlDialect } from './sql-dialect.ts';
import {
  anyLike,
  commonConditions,
  containing,
  countRows,
  keysetPage,
  type ListOrder,
  NEWEST,
  OLDEST,
} from './keyset-page.ts';
import { imageIs } from './sql-sandbox-records.ts';
import { columnsOf, fieldsOf } from './row-fields.ts';
import type { Row, SqlSchema } from './schema.ts';
import type { SqlSession } from './sql-session.ts';
import {
  holdRun,
  notifyingTransaction,
  type Publish,
  publishingTransaction,
} from './publishing-transaction.ts';

export function runRecords(session: SqlSession): RunRecords {
  const { dialect, once, prepare, repeatable } = session;
  /** Compiled once: each request of an agent reads its run. */
  const byId = prepare((db) => db.selectFrom('runs').selectAll().where('id', '=', ''));
  /** Changes a run, and returns it as it is afterwards, also if `change` had nothing to do. */
  const update = (
    id: string,
    change: (trx: Transaction<SqlSchema>, publish: Publish) => Promise<Row<'runs'> | undefined>,
  ) =>
    repeatable((db) =>
      publishingTransaction(session, db, async (trx, publish) => {
        await holdRun(trx, dialect, id);
        const run = trx.selectFrom('runs').selectAll().where('id', '=', id);
        const row = (await change(trx, publish)) ?? (await run.executeTakeFirst());
        return row && toRecord(row);
      }),
    );
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
            throw new PortholeError('internal_error', `the run id ${run.id} is taken`, {
              remedy: 'make a fresh one',
            });
          }
          await publish(run.id, events, run.createdAt);
          return true;
        }),
      ),

    countActive: (owner) => repeatable((db) => activeRuns(db, owner)),

    async get(id) {
      const [row] = await byId(id);
      return row && toRecord(row);
    },

    list: (owner, page, filter = {}, sort = 'newest') =>
      repeatable((db) => {
        const found = db.selectFrom('runs').where(matching(dialect, owner, filter));
        return keysetPage(found.selectAll(), page, toRecord, ORDERS[sort]);
      }),

    count: (owner, filter = {}) =>
      repeatable((db) => {
        const found = db.selectFrom('runs').where(matching(dialect, owner, filter));
        return countRows(db, found.select('id'));
      }),

    owners: (viewer, most) =>
      repeatable((db) => {
        const runs = db
          .selectFrom('runs')
          .where(viewer === undefined ? sql<boolean>`1 = 1` : visibleTo(viewer))
          .select(({ fn }) => [
            'owner_org',
            'owner_user',
            fn.countAll<number | string>().as('runs'),
            sql<number | string>`count(case when status = 'running' then 1 end)`.as('active'),
            fn.max('created_at').as('last_at'),
          ])
          .groupBy(['owner_org', 'owner_user'])
          .orderBy('last_at', 'desc')
          .limit(most);
        // PostgreSQL returns counts as text.
        return all(runs, ({ owner_org: org, owner_user: user, ...row }) => ({
          owner: { org, user },
          runs: Number(row.runs),
          active: Number(row.active),
          lastAt: new Date(row.last_at),
        }));
      }),

    complete: (id, at, published = []) =>
      update(id, async (trx, publish) => {
        const completed = await trx
          .updateTable('runs')
          .set({ status: 'completed', completed_at: instantText(at) })
          .where('id', '=', id)
          .where('status', '=', 'running')
          .returningAll()
          .executeTakeFirst();
        if (completed === undefined) return undefined;
        await withdrawWaiting(trx, publish, id, at);
        await publish(id, published, at);
        return completed;
      }),

    share: (id, sharing, at, published = []) =>
      update(id, async (trx, publish) => {
        const shared = await trx
          .updateTable('runs')
          .set({ sharing })
          .where('id', '=', id)
          .where('sharing', '!=', sharing)
          .returningAll()
          .executeTakeFirst();
        if (shared !== undefined) await publish(id, published, at);
        return shared;
      }),

    sharingIn: (sandboxId, owner) =>
      repeatable(async (db) => {
        const runs = db.selectFrom('runs').where('sandbox_id', '=', sandboxId).where(ownedBy(owner));
        const found = await all(runs.select('sharing').distinct(), ({ sharing }) => sharing);
        return SHARING.findLast((each) => found.includes(each)) ?? 'private';
      }),

    // Not idempotent: each rotation invalidates the token of the previous one. Wakes the watchers
    // of the run: streams that were begun with that token end.
    rotateToken: (id) =>
      once((db) =>
        notifyingTransaction(session, db, async (trx, notify) => {
          const run = trx
            .updateTable('runs')
            .set(({ eb }) => ({ agent_token_version: eb('agent_token_version', '+', 1) }))
            .where('id', '=', id)
            .where('status', '=', 'running');
          const rotated = await first(run.returningAll(), toRecord);
          if (rotated === undefined) return undefined;
          const { owner } = rotated;
          await addAuditEvents(trx, [{ type: 'run.token_rotated', subject: `run/${id}`, owner, data: {} }]);
          await notify(id);
          return rotated;
        }),
      ),

    completedAmong: (ids) =>
      repeatable(async (db) => {
        const among = db.selectFrom('runs').select('id').where(dialect.among('id', ids));
        return new Set(await all(among.where('status', '=', 'completed'), ({ id }) => id));
      }),

    inSandbox: (sandboxId) =>
      repeatable((db) => {
        const runs = db.selectFrom('runs').select('id').where('sandbox_id', '=', sandboxId);
        return all(runs.orderBy('id'), ({ id }) => id);
      }),
  };
}

const ORDERS: Readonly<Record<RunSort, ListOrder>> = {
  newest: NEWEST,
  oldest: OLDEST,
  title: { name: 'title', by: sql`substr(lower(coalesce(title, '')), 1, 60)`, direction: 'asc' },
};

function visibleTo({ org, user }: Owner): RawBuilder<boolean> {
  return sql<boolean>`owner_org = ${org} and (owner_user = ${user} or sharing <> 'private')`;
}

function matching(dialect: SqlDialect, owner: Owner | undefined, filter: RunFilter): RawBuilder<boolean> {
  const { text, status, sandboxId, sharedWith, image, tags = {} } = filter;
  const conditions = [...commonConditions(filter)];
  if (owner !== undefined) conditions.push(ownedBy(owner));
  if (sharedWith !== undefined) {
    const { org, user } = sharedWith;
    conditions.push(sql`owner_org = ${org} and owner_user <> ${user} and sharing <> 'private'`);
  }
  if (status !== undefined) conditions.push(sql`status = ${status}`);
  if (sandboxId !== undefined) conditions.push(sql`sandbox_id = ${sandboxId}`);
  if (text !== undefined)
    conditions.push(anyLike(['title', 'id', 'sandbox_id', 'owner_user'], containing(text)));
  const ofSandbox = [
    ...(image === undefined ? [] : [imageIs(image)]),
    ...Object.entries(tags).map(([key, value]) => sql<boolean>`${dialect.textUnder('tags', key)} = ${value}`),
  ];
  if (ofSandbox.length > 0)
    conditions.push(
      sql`exists (select 1 from sandboxes where sandboxes.id = runs.sandbox_id and ${sql.join(ofSandbox, sql` and `)})`,
    );
  return conditions.length === 0 ? sql`1 = 1` : sql`${sql.join(conditions, sql` and `)}`;
}

function activeRuns(db: Kysely<SqlSchema>, owner: Owner): Promise<number> {
  return count(db.selectFrom('runs').where(ownedBy(owner)).where('status', '=', 'running'));
}

/** The fields that are columns as they are. */
const RUN_FIELDS = [
  'id',
  'owner',
  'title',
  'sandboxId',
  'autoApproveTools',
  'sharing',
  'status',
  'tokenKid',
  'createdAt',
  'completedAt',
] as const;

function toRow(run: RunRecord): Row<'runs'> {
  return { ...columnsOf(run, RUN_FIELDS), agent_token_version: run.tokenVersion };
}

function toRecord({ agent_token_version: tokenVersion, ...row }: Row<'runs'>): RunRecord {
  return { ...fieldsOf(row), autoApproveTools: row.auto_approve_tools === 1, tokenVersion };
}
