import { type Kysely, sql, type Transaction } from 'kysely';
import { auditEventOf } from '#core/audit/audit-event.ts';
import type { NewEvent } from '#core/runs/timeline.ts';
import { addAuditEvents } from './audit-records.ts';
import { instantText, type SqlDialect } from './sql-dialect.ts';
import type { Row, SqlSchema } from './schema.ts';
import { inTransaction, type SqlSession } from './sql-session.ts';

/** Appends to a run's timeline, in the transaction at hand. */
export type Publish = (runId: string, events: readonly NewEvent[], at: Date) => Promise<void>;

/**
 * A transaction that may wake the watchers of a run, or of another key: after the commit, and not
 * after a rollback.
 */
export async function notifyingTransaction<T>(
  { notifier }: Pick<SqlSession, 'notifier'>,
  db: Kysely<SqlSchema>,
  work: (trx: Transaction<SqlSchema>, notify: (key: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  const notified = new Set<string>();
  const result = await inTransaction(db, (trx) =>
    work(trx, async (key) => {
      notified.add(key);
      await notifier.announce(trx, key);
    }),
  );
  for (const key of notified) notifier.committed(key);
  return result;
}

/** A transaction that may publish events. */
export function publishingTransaction<T>(
  session: SqlSession,
  db: Kysely<SqlSchema>,
  work: (trx: Transaction<SqlSchema>, publish: Publish) => Promise<T>,
): Promise<T> {
  return notifyingTransaction(session, db, (trx, notify) =>
    work(trx, async (runId, events, at) => {
      if (events.length === 0 || !(await append(trx, session.dialect, runId, events, at))) return;
      await notify(runId);
    }),
  );
}

/**
 * Locks the run until the transaction ends, so other changes of its timeline or its approvals wait.
 * This keeps the events' numbers in the order of their commits. Undefined if it does not exist.
 */
export function holdRun(
  trx: Transaction<SqlSchema>,
  dialect: SqlDialect,
  runId: string,
): Promise<Pick<Row<'runs'>, 'id' | 'owner_org' | 'owner_user' | 'status'> | undefined> {
  return trx
    .selectFrom('runs')
    .select(['id', 'owner_org', 'owner_user', 'status'])
    .where('id', '=', runId)
    .modifyEnd(dialect.forUpdate)
    .executeTakeFirst();
}

/**
 * The events that are new at `at`, each key once; and the numbers of earlier events that lose their
 * keys.
 */
export async function unpublishedAmong(
  db: Kysely<SqlSchema>,
  dialect: SqlDialect,
  runId: string,
  events: readonly NewEvent[],
  at: Date,
): Promise<{ readonly fresh: readonly NewEvent[]; readonly stale: readonly number[] }> {
  const rows = await db
    .selectFrom('run_events')
    .select(['key', 'seq', 'at'])
    .where('run_id', '=', runId)
    .where(
      dialect.among(
        'key',
        events.map(({ key }) => key),
      ),
    )
    .execute();
  const holders = new Map(rows.map((row) => [row.key, row]));
  const fresh = new Map<string, NewEvent>();
  const stale: number[] = [];
  for (const event of events) {
    if (fresh.has(event.key)) continue;
    const holder = holders.get(event.key);
    if (holder !== undefined) {
      if (at.getTime() - Date.parse(holder.at) < (event.again ?? Number.POSITIVE_INFINITY)) continue;
      stale.push(holder.seq);
    }
    fresh.set(event.key, event);
  }
  return { fresh: [...fresh.values()], stale };
}

async function append(
  trx: Transaction<SqlSchema>,
  dialect: SqlDialect,
  runId: string,
  events: readonly NewEvent[],
  at: Date,
): Promise<boolean> {
  const run = await holdRun(trx, dialect, runId);
  if (run === undefined) return false;
  const { fresh, stale } = await unpublishedAmong(trx, dialect, runId, events, at);
  if (fresh.length === 0) return false;
  for (const seq of stale) {
    await trx
      .updateTable('run_events')
      .set({ key: null })
      .where('run_id', '=', runId)
      .where('seq', '=', seq)
      .execute();
  }
  const { last } = await trx
    .selectFrom('run_events')
    .select(sql<number | null>`max(seq)`.as('last'))
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow();
  await trx
    .insertInto('run_events')
    .values(
      fresh.map(({ type, data, key }, index) => ({
        run_id: runId,
        seq: (last ?? 0) + 1 + index,
        type,
        at: instantText(at),
        data: JSON.stringify(data),
        key,
      })),
    )
    .execute();
  const owner = { org: run.owner_org, user: run.owner_user };
  await addAuditEvents(
    trx,
    fresh.flatMap((event) => auditEventOf({ id: runId, owner }, event) ?? []),
  );
  return true;
}
