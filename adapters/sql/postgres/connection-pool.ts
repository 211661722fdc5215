import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import { Client, Pool, type PoolClient } from 'pg';
import { PortholeError } from '#base/errors.ts';
import type { RecordsLog } from '../sql-session.ts';
import { isServerAnswer } from './postgres-sql-dialect.ts';

export interface ConnectionPoolOptions {
  /** `postgres://…`; may contain a password, which is only passed to `pg`. */
  readonly url: string;
  readonly size: number;
  readonly log?: RecordsLog | undefined;
  /**
   * Longest wait for an answer, in milliseconds.
   * @default 30000
   */
  readonly queryTimeoutMs?: number | undefined;
}

/**
 * Settings of every connection. The timeout, in milliseconds, applies to connecting and to waiting
 * for a pooled connection.
 */
export const CONNECTION = {
  application_name: 'porthole',
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
} as const;
const IDLE_TIMEOUT_MS = 30_000;

/** A pool of `pg` in the shape that Kysely expects. */
export function connectionPool({
  url,
  size,
  log,
  queryTimeoutMs = 30_000,
}: ConnectionPoolOptions): PostgresPool {
  const options = {
    ...CONNECTION,
    connectionString: url,
    max: size,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    query_timeout: queryTimeoutMs,
  };
  try {
    // Parses the URL without connecting. Errors may quote the URL, so they are dropped.
    void new Client(options);
  } catch (error) {
    throw unusable(url, error as NodeJS.ErrnoException);
  }
  const pool = new Pool(options);
  // An unhandled `error` event ends the process. The pool emits it for idle connections, the client
  // for those in use.
  pool.on('error', (error) => log?.warn({ err: error }, 'an idle connection to the records database broke'));
  pool.on('connect', (client) => client.on('error', () => {}));
  return {
    options: {},
    connect: async () => checkedOut(await pool.connect()),
    end: () => pool.end(),
  };
}

/** The URL names a file that cannot be read, or is no URL. Shows only the path of the file. */
function unusable(url: string, { code, syscall, path }: NodeJS.ErrnoException): PortholeError {
  if (syscall !== undefined) {
    const files = [...new URL(url).searchParams].filter(([name]) => /^ssl(rootcert|cert|key)$/.test(name));
    const [name, file] = files.find(([, each]) => each === path) ?? files[0] ?? ['a parameter', path];
    return new PortholeError(
      'invalid_request',
      `${name} in the URL of the records database names ${file}, which cannot be read (${code})`,
      { remedy: `mount the file (in a cluster functions.databaseCa mounts it), or correct ${name}` },
    );
  }
  return new PortholeError('invalid_request', 'the URL of the records database cannot be read', {
    remedy: 'write postgres://user:password@host:port/database, with special characters percent-encoded',
  });
}

/**
 * A connection that failed in any way other than by the server's answer is not reused: a timed-out
 * query would still be ahead of the next one. Until it is released it repeats the error that broke
 * it.
 */
function checkedOut(client: PoolClient): PostgresPoolClient {
  let broken: Error | undefined;
  async function query<R>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>> {
    if (broken) throw broken;
    try {
      return (await client.query(sql, [...parameters])) as unknown as PostgresQueryResult<R>;
    } catch (error) {
      if (!isServerAnswer(error)) broken = error as Error;
      throw error;
    }
  }
  return {
    query: query as PostgresPoolClient['query'],
    release: () => client.release(broken !== undefined),
  };
}
