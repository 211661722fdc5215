import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import { NulCharacter } from './sqlite-errors.ts';
import { whileBusy } from './while-busy.ts';

interface Prepared {
  readonly statement: StatementSync;
  readonly returnsRows: boolean;
}

/** Enough for every statement of ours; only an INSERT of many rows comes in many lengths. */
const MAX_PREPARED = 100;

/** Kysely's connection to one open database, with its prepared statements. */
export class NodeSqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync;
  readonly #busyTimeoutMs: number;
  readonly #prepared = new Map<string, Prepared>();

  constructor(database: DatabaseSync, busyTimeoutMs: number) {
    this.#database = database;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    for (const parameter of parameters) {
      // PostgreSQL refuses it, SQLite would keep it and cut it off in its own functions.
      if (typeof parameter === 'string' && parameter.includes('\0')) throw new NulCharacter();
    }
    const values = parameters as SQLInputValue[];
    return whileBusy(this.#busyTimeoutMs, () => {
      const { statement, returnsRows } = this.#prepare(sql);
      if (returnsRows) return { rows: statement.all(...values) as R[] };
      const { changes } = statement.run(...values);
      return { rows: [], numAffectedRows: BigInt(changes) };
    });
  }

  streamQuery(): never {
    throw new Error('records are read in pages: a stream would hold the only connection');
  }

  async execute(sql: 'begin immediate' | 'commit'): Promise<void> {
    await whileBusy(this.#busyTimeoutMs, () => this.#database.exec(sql));
  }

  /** SQLite has already rolled back by itself when, say, the disk is full. */
  rollback(): void {
    if (this.#database.isTransaction) this.#database.exec('rollback');
  }

  close(): void {
    this.#prepared.clear();
    this.#database.close();
  }

  #prepare(sql: string): Prepared {
    const known = this.#prepared.get(sql);
    if (known) {
      this.#prepared.delete(sql);
      this.#prepared.set(sql, known);
      return known;
    }
    const statement = this.#database.prepare(sql);
    const prepared = { statement, returnsRows: statement.columns().length > 0 };
    this.#prepared.set(sql, prepared);
    const oldest = this.#prepared.keys().next().value;
    if (this.#prepared.size > MAX_PREPARED && oldest !== undefined) this.#prepared.delete(oldest);
    return prepared;
  }
}
