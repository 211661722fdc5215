import { type Dialect, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import { NodeSqliteDriver, type NodeSqliteOptions } from './node-sqlite-driver.ts';

/** Kysely on `node:sqlite`. The file is opened by the first query. */
export function nodeSqliteDialect(options: NodeSqliteOptions): Dialect {
  return {
    createDriver: () => new NodeSqliteDriver(options),
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}
