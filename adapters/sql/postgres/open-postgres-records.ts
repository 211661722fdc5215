import { Kysely, PostgresDialect } from 'kysely';
import { PortholeError } from '#base/errors.ts';
import type { Records } from '#core/records.ts';
import type { SqlSchema } from '../schema.ts';
import { sqlRecords, type SqlRecordsOptions } from '../sql-records.ts';
import { traceQueries } from '../trace-queries.ts';
import { connectionPool } from './connection-pool.ts';
import { postgresNotifier } from './postgres-notifier.ts';
import { postgresSqlDialect } from './postgres-sql-dialect.ts';

export interface PostgresRecordsOptions extends SqlRecordsOptions {
  /**
   * `postgres://user:password@host:port/database`, with libpq's query parameters (`sslmode`,
   * `options`, …).
   */
  readonly url: string;
  /**
   * Maximum of open connections.
   * @default 10
   */
  readonly poolSize?: number | undefined;
}

/**
 * Records in a PostgreSQL database, in the first schema of its search path. The first request
 * connects, usually `migrate()`.
 */
export function openPostgresRecords({ url, poolSize = 10, ...options }: PostgresRecordsOptions): Records {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new PortholeError(
      'invalid_request',
      'the URL of the records database must begin with postgres:// or postgresql://',
    );
  }
  const { log } = options;
  const dialect = new PostgresDialect({ pool: async () => connectionPool({ url, size: poolSize, log }) });
  return sqlRecords(
    new Kysely<SqlSchema>({ dialect, ...traceQueries('postgresql') }),
    postgresSqlDialect,
    postgresNotifier({ url, log }),
    options,
  );
}
