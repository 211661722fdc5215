import { type DeleteResult, type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { Owner } from '#base/clock-and-ids.ts';
import type { SqlSchema } from './schema.ts';

/** How an append to a run's timeline wakes its watchers. */
export interface Notifier {
  /** Within the transaction that appends. */
  announce(trx: Kysely<SqlSchema>, runId: string): Promise<void>;
  /** Called once that transaction has been committed. */
  committed(runId: string): void;
  /**
   * Calls `wake` for each append to the run (`EVERY_RUN`: to any run), and whenever an append may
   * have been missed. Returns a function that stops watching.
   */
  watch(runId: string, wake: () => void): () => void;
  close(): Promise<void>;
}

/** Matches every run for watchers. */
export const EVERY_RUN = '*';

export function watchers() {
  const byRun = new Map<string, Set<{ readonly wake: () => void }>>();
  return {
    add(runId: string, wake: () => void): () => void {
      const entry = { wake };
      const present = byRun.get(runId) ?? new Set();
      byRun.set(runId, present.add(entry));
      return () => {
        present.delete(entry);
        if (present.size === 0 && byRun.get(runId) === present) byRun.delete(runId);
      };
    },
    wake(runId: string) {
      for (const { wake } of byRun.get(runId) ?? []) wake();
      for (const { wake } of byRun.get(EVERY_RUN) ?? []) wake();
    },
    wakeAll() {
      for (const entries of byRun.values()) for (const { wake } of entries) wake();
    },
  };
}

/**
 * What a failed statement means for the caller.
 * - `lost`: the connection broke; it is unknown whether the work took effect.
 * - `contended`: rolled back for certain, because of concurrent work.
 * - `unavailable`: the database cannot do it now, and nothing changed.
 * - `full`: rolled back for certain, because its disk is full.
 * - `malformed`: a value that no database could hold.
 * - `unexpected`: anything else, a bug.
 */
export interface Diagnosis {
  readonly kind: 'lost' | 'contended' | 'unavailable' | 'full' | 'malformed' | 'unexpected';
  /** The failure and its remedy, safe for a caller: no host, no path, no credential. */
  readonly message: string;
}

/** All differences between the databases, except how Kysely connects to them. */
export interface SqlDialect {
  /** The column type of ids, times and every other text, compared byte by byte. */
  readonly text: string;
  /** The column type of binary data. */
  readonly bytes: string;
  /** `column in (values)` with the whole list as one parameter, whatever its length. */
  among(
    column: 'id' | 'token_sha256' | 'key' | 'hook_id' | 'subject',
    values: readonly string[],
  ): RawBuilder<boolean>;
  /**
   * At the end of a select: locks its rows until the transaction ends, and reads their latest
   * values.
   */
  readonly forUpdate: RawBuilder<unknown>;
  /** At the end of a select: like `forUpdate`, but skips rows that others hold. */
  readonly skipLocked: RawBuilder<unknown>;
  /**
   * The text under a key of a JSON object of strings. Keys are letters, digits, `_`, `.`, `-` and
   * `:`.
   */
  textUnder(column: 'tags', key: string): RawBuilder<string | null>;
  /** Whether `key:value` of a pair of a JSON object of strings matches a `containing` pattern. */
  hasPairLike(column: 'tags', pattern: string): RawBuilder<boolean>;
  /**
   * Inside a transaction: waits for the lock of the key, and holds it until the transaction ends.
   */
  lockKey(trx: Kysely<SqlSchema>, key: string): Promise<void>;
  /**
   * Inside a transaction: waits until no other instance migrates, and holds that lock until the
   * transaction ends.
   */
  lockMigrations(trx: Kysely<SqlSchema>): Promise<void>;
  /** The database's own clock, as `instantText`. */
  readonly presentTime: RawBuilder<string>;
  /** Such as `PostgreSQL 17.2`. */
  readonly software: RawBuilder<string>;
  diagnose(error: unknown): Diagnosis;
}

export const MALFORMED: Diagnosis = {
  kind: 'malformed',
  message: 'a text holds a NUL character (U+0000), which cannot be stored: remove it',
};

export const UNEXPECTED: Diagnosis = {
  kind: 'unexpected',
  message: 'the records database refused a request; the log says why',
};

/**
 * RFC 3339 in UTC with milliseconds. Sorts chronologically, so years outside 0000..9999 are a
 * `RangeError`.
 */
export function instantText(at: Date): string {
  const text = at.toISOString();
  if (text.length !== 24) throw new RangeError(`${text} is outside the years 0000 to 9999`);
  return text;
}

/** Whether a row is the owner's. */
export function ownedBy({ org, user }: Owner): RawBuilder<boolean> {
  return sql<boolean>`owner_org = ${org} and owner_user = ${user}`;
}

/** The first row of a query, if it has any. */
export async function first<Row, Item>(
  query: { executeTakeFirst(): Promise<Row | undefined> },
  toItem: (row: Row) => Item,
): Promise<Item | undefined> {
  const row = await query.executeTakeFirst();
  return row && toItem(row);
}

export async function all<Row, Item>(
  query: { execute(): Promise<Row[]> },
  toItem: (row: Row) => Item,
): Promise<Item[]> {
  return (await query.execute()).map(toItem);
}

/** Executes a query that returns no rows. */
export async function done(query: { execute(): Promise<unknown> }): Promise<void> {
  await query.execute();
}

/** Whether a query returns a row. */
export async function some(query: { executeTakeFirst(): Promise<unknown> }): Promise<boolean> {
  return (await query.executeTakeFirst()) !== undefined;
}

/** How many rows a query without a selection has. */
export async function count<Table extends keyof SqlSchema>(
  query: SelectQueryBuilder<SqlSchema, Table, object>,
): Promise<number> {
  const { rows } = await query
    .select(({ fn }) => fn.countAll<number | string>().as('rows'))
    .executeTakeFirstOrThrow();
  // PostgreSQL returns it as text.
  return Number(rows);
}

/** Deletes what the query names; returns the number of rows. */
export async function deleted(query: { executeTakeFirst(): Promise<DeleteResult> }): Promise<number> {
  const { numDeletedRows } = await query.executeTakeFirst();
  return Number(numDeletedRows);
}
