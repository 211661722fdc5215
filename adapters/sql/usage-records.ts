import { type Insertable, type Kysely, type RawBuilder, sql } from 'kysely';
import { countedSoFar, type LastReading, usageSince } from '#core/usage/usage-days.ts';
import {
  USAGE_AMOUNTS,
  type UsageAmounts,
  type UsageFilter,
  type UsageGroup,
  type UsageReading,
  type UsageRecords,
} from '#core/usage/usage-store.ts';
import { columnsOf } from './row-fields.ts';
import type { SqlSchema } from './schema.ts';
import { deleted, instantText, ownedBy } from './sql-dialect.ts';
import { inTransaction, type SqlSession } from './sql-session.ts';

const GROUP_COLUMNS = {
  sandbox: 'sandbox_id',
  run: 'run_id',
  owner: 'owner_user',
  org: 'owner_org',
  day: 'day',
} as const satisfies Record<UsageGroup, keyof SqlSchema['sandbox_usage']>;

const AMOUNT_COLUMNS = [
  'vcpu_s',
  'memory_gib_s',
  'disk_gib_s',
  'egress_bytes',
  'preview_bytes',
  'look_s',
] as const;

const KEY = ['sandbox_id', 'source', 'day', 'run_id', 'owner_user', 'owner_org'] as const;

/** Stays below the parameters of one statement. */
const ROWS_AT_ONCE = 1_000;

/** A sandbox at the time of a reading. */
interface Subject {
  readonly owner_org: string;
  readonly owner_user: string;
  readonly run_id: string;
  readonly createdAt: Date;
}

export function usageRecords({ dialect, repeatable }: SqlSession): UsageRecords {
  return {
    // Idempotent: a repeated reading is no newer than the last.
    add: (readings) =>
      readings.length === 0
        ? Promise.resolve()
        : repeatable((db) =>
            inTransaction(db, async (trx) => {
              await dialect.lockKey(trx, 'usage');
              await addReadings(trx, newestOfEach(readings));
            }),
          ),

    sum: (by, filter, { offset, limit }, overdue) =>
      repeatable(async (db) => {
        const columns = by.map((group) => GROUP_COLUMNS[group]);
        const isAway = sql`state = 'open' and read_at < ${instantText(overdue)}`;
        const rows = await db
          .selectFrom('sandbox_usage')
          .select(columns)
          .select(({ fn }) => AMOUNT_COLUMNS.map((name) => fn.sum<number>(name).as(name)))
          .select(sql<number>`max(case when estimated = 1 or (${isAway}) then 1 else 0 end)`.as('estimated'))
          .where((where) => where.and(conditions(filter)))
          .groupBy(columns)
          .$call((query) => columns.reduce((sorted, column) => sorted.orderBy(column), query))
          .offset(offset)
          .limit(limit)
          .execute();
        return rows.map((row) => ({
          group: Object.fromEntries(by.map((group) => [group, row[GROUP_COLUMNS[group]]])),
          ...amountsOf((index) => row[AMOUNT_COLUMNS[index] as 'vcpu_s']),
          estimated: row.estimated === 1,
        }));
      }),

    forget: (before) => repeatable((db) => deleted(db.deleteFrom('sandbox_usage').where('day', '<', before))),
  };
}

function amountsOf(of: (index: number) => number): UsageAmounts {
  return Object.fromEntries(USAGE_AMOUNTS.map((name, index) => [name, of(index)])) as unknown as UsageAmounts;
}

function conditions({ owner, user, org, sandboxId, runId, from, to }: UsageFilter): RawBuilder<boolean>[] {
  const equal = (column: string, value: string | undefined) =>
    value === undefined ? [] : [sql<boolean>`${sql.ref(column)} = ${value}`];
  return [
    sql<boolean>`day between ${from} and ${to}`,
    ...(owner === undefined ? [] : [ownedBy(owner)]),
    ...equal('owner_user', user),
    ...equal('owner_org', org),
    ...equal('sandbox_id', sandboxId),
    ...equal('run_id', runId),
  ];
}

async function addReadings(trx: Kysely<SqlSchema>, readings: readonly UsageReading[]): Promise<void> {
  const subjects = await subjectsOf(trx, [...new Set(readings.map(({ sandboxId }) => sandboxId))]);
  const last = await lastReadings(trx, readings);
  const past: string[] = [];
  const rows: Insertable<SqlSchema['sandbox_usage']>[] = [];
  for (const reading of readings) {
    const { sandboxId, source, at, isLast } = reading;
    const subject = subjects.get(sandboxId);
    if (subject === undefined) continue;
    const { createdAt, ...columns } = subject;
    const before = last.get(keyOf(sandboxId, source));
    const days = usageSince(before, reading, createdAt);
    if (before !== undefined && days.length > 0) past.push(source);
    const counter = JSON.stringify(countedSoFar(before, reading));
    for (const [index, { day, amounts: counted, estimated }] of days.entries()) {
      rows.push({
        ...columns,
        ...columnsOf(counted, USAGE_AMOUNTS),
        sandbox_id: sandboxId,
        source,
        day,
        counter,
        read_at: instantText(at),
        state: index < days.length - 1 ? 'past' : isLast ? 'closed' : 'open',
        estimated: Number(estimated),
      });
    }
  }
  if (past.length > 0) {
    await trx
      .updateTable('sandbox_usage')
      .set({ state: 'past' })
      .where('sandbox_id', 'in', [...subjects.keys()])
      .where('source', 'in', past)
      .execute();
  }
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
    await addRows(trx, rows.slice(at, at + ROWS_AT_ONCE));
}

async function addRows(
  trx: Kysely<SqlSchema>,
  rows: readonly Insertable<SqlSchema['sandbox_usage']>[],
): Promise<void> {
  const sums = Object.fromEntries(
    AMOUNT_COLUMNS.map((name) => [name, sql<number>`sandbox_usage.${sql.ref(name)} + ${excluded(name)}`]),
  );
  await trx
    .insertInto('sandbox_usage')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(KEY).doUpdateSet({
        ...sums,
        counter: excluded<string>('counter'),
        read_at: excluded<string>('read_at'),
        state: excluded<'open'>('state'),
        estimated: sql<number>`case when sandbox_usage.estimated = 1 then 1 else ${excluded('estimated')} end`,
      }),
    )
    .execute();
}

function excluded<T>(name: string): RawBuilder<T> {
  return sql<T>`excluded.${sql.ref(name)}`;
}

const keyOf = (sandboxId: string, source: string): string => `${sandboxId} ${source}`;

/** One reading of each counter: a statement changes a row once. */
function newestOfEach(readings: readonly UsageReading[]): readonly UsageReading[] {
  const newest = new Map<string, UsageReading>();
  for (const reading of readings) {
    const key = keyOf(reading.sandboxId, reading.source);
    const other = newest.get(key);
    if (other === undefined || other.at <= reading.at) newest.set(key, reading);
  }
  return [...newest.values()];
}

/** The owner of each sandbox, and its newest run; deleted ones included. */
async function subjectsOf(
  trx: Kysely<SqlSchema>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Subject>> {
  const sandboxes = await trx
    .selectFrom('sandboxes')
    .select(['id', 'owner_org', 'owner_user', 'created_at'])
    .where('id', 'in', ids)
    .execute();
  const runs = await trx
    .selectFrom('runs')
    .select(['id', 'sandbox_id'])
    .where('sandbox_id', 'in', ids)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const newest = new Map(runs.map(({ id, sandbox_id }) => [sandbox_id, id]));
  return new Map(
    sandboxes.map(({ id, created_at, ...owner }) => [
      id,
      { ...owner, run_id: newest.get(id) ?? '', createdAt: new Date(created_at) },
    ]),
  );
}

async function lastReadings(
  trx: Kysely<SqlSchema>,
  readings: readonly UsageReading[],
): Promise<ReadonlyMap<string, LastReading>> {
  const rows = await trx
    .selectFrom('sandbox_usage')
    .select(['sandbox_id', 'source', 'counter', 'read_at'])
    .where(
      'sandbox_id',
      'in',
      readings.map(({ sandboxId }) => sandboxId),
    )
    .where(
      'source',
      'in',
      readings.map(({ source }) => source),
    )
    .where('state', '!=', 'past')
    .execute();
  return new Map(
    rows.map(({ sandbox_id, source, counter, read_at }) => [
      keyOf(sandbox_id, source),
      { at: new Date(read_at), counted: JSON.parse(counter) as UsageAmounts },
    ]),
  );
}
