import { sql } from 'kysely';
import type { SqlDialect } from '../sql-dialect.ts';
import { diagnosePostgres } from './postgres-errors.ts';

/** `porthole` in ASCII, as one 64-bit number: whose advisory lock it is. */
const LOCK_KEY = sql.lit(Buffer.from('porthole').readBigInt64BE());

export const postgresSqlDialect: SqlDialect = {
  text: sql`text collate "C"`,
  bytes: sql`bytea`,
  among: (column, values) => sql`${sql.ref(column)} = any(${values}::text[])`,
  forUpdate: sql`for update`,
  skipLocked: sql`for update skip locked`,
  textUnder: (column, key) => sql`${sql.ref(column)}::jsonb ->> ${key}`,
  async lockKey(trx, key) {
    await sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`.execute(trx);
  },
  async lockMigrations(trx) {
    await sql`select pg_advisory_xact_lock(${LOCK_KEY})`.execute(trx);
  },
  diagnose: diagnosePostgres,
};
