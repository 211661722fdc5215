import { Kysely } from 'kysely';
import type { Records } from '#core/records.ts';
import type { SqlSchema } from '../schema.ts';
import { type Notifier, watchers } from '../sql-dialect.ts';
import { sqlRecords, type SqlRecordsOptions } from '../sql-records.ts';
import { traceQueries } from '../trace-queries.ts';
import { nodeSqliteDialect } from './node-sqlite.ts';
import { sqliteSqlDialect } from './sqlite-sql-dialect.ts';

export interface SqliteRecordsOptions extends SqlRecordsOptions {
  /**
   * Created if it is missing; its folder must exist. `:memory:` is a database of this instance
   * alone.
   */
  readonly file: string;
  /**
   * How long a request waits while another process writes, in milliseconds, before it fails with
   * `service_unavailable`.
   * @default 5000
   */
  readonly busyTimeoutMs?: number | undefined;
  /** Called when the disk is full; whether there may be space now. @default there is not */
  readonly makeRoom?: (() => boolean) | undefined;
}

/** Records in one SQLite file, on a local disk. The first request opens it, usually `migrate()`. */
export function openSqliteRecords({ file, busyTimeoutMs = 5000, ...options }: SqliteRecordsOptions): Records {
  const dialect = nodeSqliteDialect({ file, busyTimeoutMs });
  const { selectNow } = dialect;
  const db = new Kysely<SqlSchema>({ dialect, ...traceQueries('sqlite') });
  return sqlRecords(db, sqliteSqlDialect, inProcessNotifier(), { ...options, selectNow });
}

/** One process owns a file of records, so writers and watchers are in the same process. */
export function inProcessNotifier(): Notifier {
  const watching = watchers();
  return {
    announce: () => Promise.resolve(),
    committed: (runId) => watching.wake(runId),
    watch: (runId, wake) => watching.add(runId, wake),
    close: () => Promise.resolve(),
  };
}
