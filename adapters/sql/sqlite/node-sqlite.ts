import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { retry } from '#base/retry.ts';
import { isBusy, NulCharacter } from './sqlite-sql-dialect.ts';

/** Longest pause between two polls of a busy file, in milliseconds. */
const MAX_PAUSE_MS = 25;

/**
 * Retries `work`, one statement, while another connection holds the file, up to `timeoutMs`.
 * SQLite's own busy timeout is off, because it sleeps in the calling thread: the whole server would
 * block, and deadlock if another instance in this process holds the lock.
 */
function whileBusy<T>(timeoutMs: number, work: () => T): Promise<T> {
  const delay = (error: unknown, tries: number) =>
    // Jitter, so that waiting callers do not retry together.
    isBusy(error) ? Math.min(2 ** (tries - 1), MAX_PAUSE_MS) * (0.5 + Math.random() / 2) : undefined;
  return retry(work, { delay, withinMs: timeoutMs });
}

interface Prepared {
  readonly statement: StatementSync;
  readonly returnsRows: boolean;
}

/** Enough for all our statements; only an INSERT of many rows varies in length. */
const MAX_PREPARED = 100;

/** Kysely's connection to one open database, with its prepared statements. */
class NodeSqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync;
  readonly #busyTimeoutMs: number;
  readonly #prepared = new LRUCache<string, Prepared>({ max: MAX_PREPARED });

  constructor(database: DatabaseSync, busyTimeoutMs: number) {
    this.#database = database;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const values = checkedValues(parameters);
    return whileBusy(this.#busyTimeoutMs, () => {
      const { statement, returnsRows } = this.#prepare(sql);
      if (returnsRows) return { rows: statement.all(...values) as R[] };
      const { changes } = statement.run(...values);
      return { rows: [], numAffectedRows: BigInt(changes) };
    });
  }

  /** Undefined on a failure, and during a transaction: the select would see its changes. */
  selectNow<R>({ sql, parameters }: CompiledQuery): R[] | undefined {
    if (this.#database.isTransaction) return undefined;
    try {
      return this.#prepare(sql).statement.all(...checkedValues(parameters)) as R[];
    } catch {
      return undefined;
    }
  }

  streamQuery(): never {
    throw new Error('records are read in pages: a stream would hold the only connection');
  }

  async execute(sql: 'begin immediate' | 'commit'): Promise<void> {
    await whileBusy(this.#busyTimeoutMs, () => this.#database.exec(sql));
  }

  /** SQLite has already rolled back by itself, for example when the disk is full. */
  rollback(): void {
    if (this.#database.isTransaction) this.#database.exec('rollback');
  }

  close(): void {
    this.#prepared.clear();
    this.#database.close();
  }

  #prepare(sql: string): Prepared {
    const known = this.#prepared.get(sql);
    if (known) return known;
    const statement = this.#database.prepare(sql);
    const prepared = { statement, returnsRows: statement.columns().length > 0 };
    this.#prepared.set(sql, prepared);
    return prepared;
  }
}

function checkedValues(parameters: CompiledQuery['parameters']): SQLInputValue[] {
  for (const parameter of parameters) {
    // PostgreSQL refuses it; SQLite would store it and truncate it in its own functions.
    if (typeof parameter === 'string' && parameter.includes('\0')) throw new NulCharacter();
  }
  return parameters as SQLInputValue[];
}

/**
 * Opens the file, created for its owner alone if it is new (SQLite gives its WAL the same mode).
 * WAL lets readers and the one writer run side by side. With synchronous NORMAL a process crash
 * loses nothing; a power failure loses at most the last transactions, never half of one. Deleted
 * data is overwritten with zeros, so that a copy of the file does not contain it.
 */
async function openDatabase(file: string, busyTimeoutMs: number): Promise<DatabaseSync> {
  const inMemory = file === ':memory:';
  if (!inMemory) createPrivately(file);
  const database = new DatabaseSync(file, { timeout: 0, enableForeignKeyConstraints: true });
  try {
    // Changing the mode needs exclusive access. The file stores the mode, so only the first
    // instances compete.
    const mode = await whileBusy(busyTimeoutMs, () => database.prepare('pragma journal_mode = wal').get());
    if (!inMemory && mode?.['journal_mode'] !== 'wal') {
      throw Object.assign(new Error('this folder does not support a write-ahead log'), { errcode: 10 });
    }
    database.exec('pragma synchronous = normal; pragma secure_delete = on');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600));
  } catch {
    // It exists, or SQLite reports the problem better.
  }
}

interface NodeSqliteOptions {
  /** Its folder must exist. `:memory:` is a database of this instance alone. */
  readonly file: string;
  /** How long a statement waits while another connection holds the file, in milliseconds. */
  readonly busyTimeoutMs: number;
}

/** Kysely on `node:sqlite`, for one Kysely: one connection, which the first query opens. */
export function nodeSqliteDialect({ file, busyTimeoutMs }: NodeSqliteOptions) {
  let connection: NodeSqliteConnection | undefined;
  const opened = (): NodeSqliteConnection => {
    if (!connection) throw new Error('the driver is used before init');
    return connection;
  };
  const driver: Driver = {
    async init() {
      connection = new NodeSqliteConnection(await openDatabase(file, busyTimeoutMs), busyTimeoutMs);
    },
    acquireConnection: async () => opened(),
    // IMMEDIATE: a transaction that began by reading could not wait for the write lock, only fail.
    beginTransaction: () => opened().execute('begin immediate'),
    commitTransaction: () => opened().execute('commit'),
    rollbackTransaction: async () => opened().rollback(),
    releaseConnection: async () => {},
    async destroy() {
      connection?.close();
      connection = undefined;
    },
  };
  return {
    selectNow: <R>(query: CompiledQuery<R>): R[] | undefined => connection?.selectNow(query),
    createDriver: () => driver,
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  } satisfies Dialect & { readonly selectNow: unknown };
}
