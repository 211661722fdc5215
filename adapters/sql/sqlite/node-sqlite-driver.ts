import type { DatabaseConnection, Driver } from 'kysely';
import { NodeSqliteConnection } from './node-sqlite-connection.ts';
import { openDatabase } from './open-database.ts';

export interface NodeSqliteOptions {
  /** Its folder must exist. `:memory:` is a database of this instance alone. */
  readonly file: string;
  /** How long a statement waits while another connection holds the file, in milliseconds. */
  readonly busyTimeoutMs: number;
}

/** One connection, opened at the first query; Kysely hands it to one user at a time. */
export class NodeSqliteDriver implements Driver {
  readonly #options: NodeSqliteOptions;
  #connection: NodeSqliteConnection | undefined;

  constructor(options: NodeSqliteOptions) {
    this.#options = options;
  }

  async init(): Promise<void> {
    const { file, busyTimeoutMs } = this.#options;
    this.#connection = new NodeSqliteConnection(await openDatabase(file, busyTimeoutMs), busyTimeoutMs);
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#opened();
  }

  /** IMMEDIATE: a transaction that began by reading could not wait for its turn to write, only fail. */
  async beginTransaction(): Promise<void> {
    await this.#opened().execute('begin immediate');
  }

  async commitTransaction(): Promise<void> {
    await this.#opened().execute('commit');
  }

  async rollbackTransaction(): Promise<void> {
    this.#opened().rollback();
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.#connection?.close();
  }

  #opened(): NodeSqliteConnection {
    if (!this.#connection) throw new Error('the driver is used before init');
    return this.#connection;
  }
}
