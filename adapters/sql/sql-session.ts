import type { Compilable, CompiledQuery, Kysely, Transaction } from 'kysely';
import { PortholeError } from '#base/errors.ts';
import { retry } from '#base/retry.ts';
import type { Notifier, Diagnosis, SqlDialect } from './sql-dialect.ts';
import type { SqlSchema } from './schema.ts';

/** The adapter's log for operators; pino fits. No message contains a credential. */
export interface RecordsLog {
  warn(fields: Record<string, unknown>, message: string): void;
}

type Work<T> = (db: Kysely<SqlSchema>) => Promise<T>;

/** An open database: every failure becomes a PortholeError, and closing waits for running work. */
export interface SqlSession {
  readonly dialect: SqlDialect;
  readonly notifier: Notifier;
  /** For idempotent work: repeated once if the connection broke. */
  readonly repeatable: <T>(work: Work<T>) => Promise<T>;
  /** For non-idempotent work: the caller handles a broken connection. */
  readonly once: <T>(work: Work<T>) => Promise<T>;
  /** A transaction as non-idempotent work. */
  readonly transact: <T>(work: (trx: Transaction<SqlSchema>) => Promise<T>) => Promise<T>;
  /**
   * One select for many requests, compiled once; the parameters replace those that it is built
   * with. Returns a promise only if the database cannot answer at once.
   */
  readonly prepare: <Row>(
    build: (db: Kysely<SqlSchema>) => Compilable<Row>,
  ) => (...parameters: readonly unknown[]) => Row[] | Promise<Row[]>;
  /** Calls `wake` after each transaction of this session that stored events of the audit. */
  readonly watchAppends: (wake: () => void) => () => void;
  readonly isAnswering: () => boolean;
  readonly close: () => Promise<void>;
}

/** The rows of a committed state, without Kysely's queue; undefined if it cannot answer now. */
export type SelectNow = <Row>(query: CompiledQuery<Row>) => Row[] | undefined;

/** Deadlocks are rare and solved by a retry: more in a row than this is overload. */
const CONTENDED_ATTEMPTS = 5;
const LOST_ATTEMPTS = 2;
const FULL_ATTEMPTS = 2;

export interface SessionOptions {
  readonly selectNow?: SelectNow | undefined;
  /** Called when the disk is full; whether there may be space now. @default there is not */
  readonly makeRoom?: (() => boolean) | undefined;
}

const ERROR_CODES = {
  lost: 'service_unavailable',
  contended: 'service_unavailable',
  unavailable: 'service_unavailable',
  full: 'disk_full',
  malformed: 'invalid_request',
  unexpected: 'internal_error',
} as const satisfies Record<Diagnosis['kind'], string>;

export function sqlSession(
  db: Kysely<SqlSchema>,
  dialect: SqlDialect,
  notifier: Notifier,
  log?: RecordsLog,
  { selectNow, makeRoom = () => false }: SessionOptions = {},
): SqlSession {
  const running = new Set<Promise<unknown>>();
  let closed: Promise<void> | undefined;
  let isAnswering = true;

  const attempt = <T>(work: Work<T>, lostAttempts: number): Promise<T> => {
    const once = async (): Promise<T> => {
      const done = await work(db);
      isAnswering = true;
      return done;
    };
    const delay = (error: unknown, attempt: number): number | undefined => {
      if (error instanceof PortholeError) return undefined;
      const { kind, message } = dialect.diagnose(error);
      isAnswering = kind !== 'lost' && kind !== 'unavailable';
      const attempts =
        kind === 'lost'
          ? lostAttempts
          : kind === 'contended'
            ? CONTENDED_ATTEMPTS
            : kind === 'full' && makeRoom()
              ? FULL_ATTEMPTS
              : 1;
      if (attempt >= attempts) throw new PortholeError(ERROR_CODES[kind], message, { cause: error });
      log?.warn({ err: error, attempt }, `${message}; trying again`);
      return 0;
    };
    return retry(once, { delay });
  };

  async function run<T>(work: Work<T>, lostAttempts: number): Promise<T> {
    if (closed)
      throw new PortholeError('service_unavailable', 'the records are closed: the server is stopping');
    const result = attempt(work, lostAttempts);
    running.add(result);
    try {
      return await result;
    } finally {
      running.delete(result);
    }
  }

  function prepare<Row>(build: (db: Kysely<SqlSchema>) => Compilable<Row>) {
    let compiled: CompiledQuery<Row> | undefined;
    return (...parameters: readonly unknown[]): Row[] | Promise<Row[]> => {
      compiled ??= build(db).compile();
      const query: CompiledQuery<Row> = { ...compiled, parameters };
      const rows = closed === undefined ? selectNow?.(query) : undefined;
      return rows ?? run(async () => (await db.executeQuery(query)).rows, LOST_ATTEMPTS);
    };
  }

  async function destroy(): Promise<void> {
    await Promise.allSettled(running);
    await Promise.all([notifier.close(), db.destroy()]);
  }

  return {
    dialect,
    notifier,
    repeatable: (work) => run(work, LOST_ATTEMPTS),
    prepare,
    once: (work) => run(work, 1),
    transact: (work) => run((db) => inTransaction(db, work), 1),
    watchAppends(wake) {
      const present = appendWatchers.get(db) ?? new Set();
      appendWatchers.set(db, present.add(wake));
      return () => present.delete(wake);
    },
    isAnswering: () => isAnswering,
    close: () => (closed ??= destroy()),
  };
}

/** By the database of a session. */
const appendWatchers = new WeakMap<Kysely<SqlSchema>, Set<() => void>>();
const appending = new WeakSet<Kysely<SqlSchema>>();

/** Says that the transaction stores events of the audit: their readers wake after its commit. */
export function markAppending(trx: Kysely<SqlSchema>): void {
  appending.add(trx);
}

/**
 * One transaction in which every statement sees what was committed before it, whatever the
 * database's default: callers lock a row, then read its current state.
 */
export async function inTransaction<T>(
  db: Kysely<SqlSchema>,
  work: (trx: Transaction<SqlSchema>) => Promise<T>,
): Promise<T> {
  let isAppending = false;
  const result = await db
    .transaction()
    .setIsolationLevel('read committed')
    .execute(async (trx) => {
      const worked = await work(trx);
      isAppending = appending.has(trx);
      return worked;
    });
  if (isAppending) for (const wake of appendWatchers.get(db) ?? []) wake();
  return result;
}
