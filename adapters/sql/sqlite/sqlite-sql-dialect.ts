import { sql } from 'kysely';
import { type Diagnosis, MALFORMED, type SqlDialect, UNEXPECTED } from '../sql-dialect.ts';

/**
 * Primary result codes, https://sqlite.org/rescode.html; the extended ones carry them in their low
 * byte.
 */
const BUSY = 5;
const FULL = 13;
const UNAVAILABLE = new Map<number, string>([
  [BUSY, 'the records file is in use by another process: try again'],
  [8, 'the records file cannot be written: let the server write to it and to its folder'],
  [10, 'the records file cannot be read or written: look after its disk'],
  [11, 'the records file is damaged: restore it from a copy, or remove it to start afresh'],
  [14, 'the records file cannot be opened: make its folder, and let the server write to it'],
  [26, 'the records file is not an SQLite database: name another one'],
]);

/** `node:sqlite` does not report it, because SQLite stores it silently. */
export class NulCharacter extends Error {}

/**
 * By shape: Node creates these errors in its own realm, where `instanceof` fails from a vm context.
 */
function resultCode(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}

/**
 * Another connection holds the write lock, or recovers the file after a crash: the statement had no
 * effect.
 */
export function isBusy(error: unknown): boolean {
  return resultCode(error) === BUSY;
}

function diagnoseSqlite(error: unknown): Diagnosis {
  if (error instanceof NulCharacter) return MALFORMED;
  if (resultCode(error) === FULL) {
    return { kind: 'full', message: 'the records file cannot grow: free space on its disk' };
  }
  const message = UNAVAILABLE.get(resultCode(error) ?? 0);
  return message === undefined ? UNEXPECTED : { kind: 'unavailable', message };
}

export const sqliteSqlDialect: SqlDialect = {
  // BINARY is the default collation.
  text: 'text',
  bytes: 'blob',
  among(column, values) {
    // JSON would escape it, and the driver's own check would miss it.
    if (values.some((value) => value.includes('\0'))) throw new NulCharacter();
    return sql`${sql.ref(column)} in (select value from json_each(${JSON.stringify(values)}))`;
  },
  // There are no concurrent writers: every transaction is IMMEDIATE.
  forUpdate: sql``,
  skipLocked: sql``,
  textUnder: (column, key) => sql`json_extract(${sql.ref(column)}, ${`$."${key}"`})`,
  hasPairLike: (column, pattern) =>
    sql`exists (select 1 from json_each(${sql.ref(column)}) as pair where lower(pair.key || ':' || pair.value) like ${pattern} escape '\\')`,
  // No other writer runs between two statements of a transaction.
  lockKey: async () => {},
  // Every transaction begins as IMMEDIATE and holds the only write lock.
  lockMigrations: async () => {},
  presentTime: sql<string>`strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`,
  software: sql<string>`'SQLite ' || sqlite_version()`,
  diagnose: diagnoseSqlite,
};
