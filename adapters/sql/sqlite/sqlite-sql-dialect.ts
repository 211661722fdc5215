import { sql } from 'kysely';
import type { SqlDialect } from '../sql-dialect.ts';
import { diagnoseSqlite, NulCharacter } from './sqlite-errors.ts';

export const sqliteSqlDialect: SqlDialect = {
  // BINARY is the default collation.
  text: sql`text`,
  bytes: sql`blob`,
  among(column, values) {
    // In JSON it would be an escape, which the driver's own check does not see.
    if (values.some((value) => value.includes('\0'))) throw new NulCharacter();
    return sql`${sql.ref(column)} in (select value from json_each(${JSON.stringify(values)}))`;
  },
  // Nobody else writes meanwhile: see below.
  forUpdate: sql``,
  skipLocked: sql``,
  textUnder: (column, key) => sql`json_extract(${sql.ref(column)}, ${`$."${key}"`})`,
  // Nor does anybody write between two statements of a transaction.
  lockKey: async () => {},
  // Every transaction begins as IMMEDIATE: it holds the only write lock there is.
  lockMigrations: async () => {},
  diagnose: diagnoseSqlite,
};
