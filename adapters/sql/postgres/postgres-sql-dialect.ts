import { sql } from 'kysely';
import { type Diagnosis, MALFORMED, type SqlDialect, UNEXPECTED } from '../sql-dialect.ts';

/**
 * https://www.postgresql.org/docs/current/errcodes-appendix.html: serialization_failure,
 * deadlock_detected.
 */
const CONTENDED = new Set(['40001', '40P01']);
/**
 * admin_shutdown, crash_shutdown, cannot_connect_now, database_dropped; class 08 is
 * connection_exception.
 */
const LOST = /^(08...|57P0[1-4])$/;
/**
 * Insufficient resources, invalid authorization, unknown database, query_canceled, a read-only
 * server.
 */
const UNAVAILABLE = /^(53...|28...|3D000|57014|25006)$/;
/** character_not_in_repertoire: U+0000 is the only such character that JavaScript can send. */
const NUL_CHARACTER = '22021';
/** Messages of `pg` without a code when a connection ends, or does not answer in time. */
const LOST_MESSAGE =
  /^(Connection terminated|timeout exceeded when trying to connect|Client (has encountered|was closed)|Query read timeout)/;

/** Messages of `pg` without a code when server and URL disagree on encryption or password. */
const NO_AGREEMENT = /^(SASL|The server does not support SSL)/;

const lost: Diagnosis = {
  kind: 'lost',
  message: 'the connection to the records database is broken: try again',
};
const contended: Diagnosis = {
  kind: 'contended',
  message: 'too many write the same records at once: try again',
};
const unavailable: Diagnosis = {
  kind: 'unavailable',
  message: 'the records database does not take requests now: look at its state and at DATABASE_URL',
};

/**
 * Whether the server itself answered: its connection is then still usable, unless the answer says
 * otherwise.
 */
export function isServerAnswer(error: unknown): boolean {
  const { fromServer, code } = read(error);
  return fromServer && !LOST.test(code);
}

function diagnosePostgres(error: unknown): Diagnosis {
  const { fromServer, code, message } = read(error);
  if (fromServer) {
    if (LOST.test(code)) return lost;
    if (CONTENDED.has(code)) return contended;
    if (UNAVAILABLE.test(code)) return unavailable;
    return code === NUL_CHARACTER ? MALFORMED : UNEXPECTED;
  }
  if (NO_AGREEMENT.test(message)) return unavailable;
  // System errors (ECONNREFUSED, EPIPE, …) and TLS failures have codes; our own mistakes are ERR_….
  const fromTheNetwork = code !== '' && !/^ERR_(?!TLS|SSL)/.test(code);
  return fromTheNetwork || LOST_MESSAGE.test(message) ? lost : UNEXPECTED;
}

/**
 * By shape: Node creates system errors in its own realm, where `instanceof` fails from a vm
 * context.
 */
function read(error: unknown): { fromServer: boolean; code: string; message: string } {
  if (typeof error !== 'object' || error === null) return { fromServer: false, code: '', message: '' };
  return {
    fromServer: 'severity' in error,
    code: 'code' in error && typeof error.code === 'string' ? error.code : '',
    message: 'message' in error && typeof error.message === 'string' ? error.message : '',
  };
}

/** Key of the advisory lock: `porthole` in ASCII as a 64-bit number. */
const LOCK_KEY = sql.lit(Buffer.from('porthole').readBigInt64BE());

export const postgresSqlDialect: SqlDialect = {
  text: 'text collate "C"',
  bytes: 'bytea',
  among: (column, values) => sql`${sql.ref(column)} = any(${values}::text[])`,
  forUpdate: sql`for update`,
  skipLocked: sql`for update skip locked`,
  textUnder: (column, key) => sql`${sql.ref(column)}::jsonb ->> ${key}`,
  hasPairLike: (column, pattern) =>
    sql`exists (select 1 from jsonb_each_text(${sql.ref(column)}::jsonb) as pair where lower((pair.key || ':' || pair.value) collate "C") like ${pattern} escape '\\')`,
  async lockKey(trx, key) {
    await sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`.execute(trx);
  },
  async lockMigrations(trx) {
    await sql`select pg_advisory_xact_lock(${LOCK_KEY})`.execute(trx);
  },
  presentTime: sql<string>`to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  // Debian's has its package behind it.
  software: sql<string>`'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1)`,
  diagnose: diagnosePostgres,
};
