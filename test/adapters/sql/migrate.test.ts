import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Kysely } from 'kysely';
import { migrate } from '#adapters/sql/migrate.ts';
import { MIGRATIONS } from '#adapters/sql/migrations.ts';
import type { SqlSchema } from '#adapters/sql/schema.ts';
import { nodeSqliteDialect } from '#adapters/sql/sqlite/node-sqlite-dialect.ts';
import { sqliteSqlDialect } from '#adapters/sql/sqlite/sqlite-sql-dialect.ts';

describe('migrations', () => {
  let db: Kysely<SqlSchema>;

  beforeEach(() => {
    db = new Kysely({ dialect: nodeSqliteDialect({ file: ':memory:', busyTimeoutMs: 0 }) });
  });
  afterEach(() => db.destroy());

  async function tables(): Promise<string[]> {
    return (await db.introspection.getTables()).map(({ name }) => name).sort();
  }

  test('have numbers of their own, in their order', () => {
    const numbers = MIGRATIONS.map(({ name }) => /^(\d{4})-/.exec(name)?.[1]);
    expect(numbers).not.toContain(undefined);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => Number(a) - Number(b)));
  });

  test('make these tables', async () => {
    await migrate(db, sqliteSqlDialect);
    expect(await tables()).toEqual([
      'approval_policies',
      'approval_waiters',
      'approvals',
      'archives',
      'delegations',
      'ended_sessions',
      'images',
      'preview_generations',
      'preview_tombstones',
      'run_events',
      'runs',
      'sandbox_events',
      'sandbox_snapshots',
      'sandbox_tokens',
      'sandboxes',
      'schema_migrations',
      'skills',
      'tool_drafts',
      'tool_runs',
      'tool_versions',
      'tools',
    ]);
  });

  test('are each applied once, also when one is added later', async () => {
    await migrate(db, sqliteSqlDialect);
    const later = {
      name: '9999-later',
      up: (trx: Kysely<unknown>) => trx.schema.createTable('later').addColumn('id', 'text').execute(),
    };
    await migrate(db, sqliteSqlDialect, [...MIGRATIONS, later]);
    await migrate(db, sqliteSqlDialect, [...MIGRATIONS, later]);
    expect(await tables()).toContain('later');
    const rows = await db.selectFrom('schema_migrations').select('name').orderBy('name').execute();
    expect(rows.map(({ name }) => name)).toEqual([...MIGRATIONS.map(({ name }) => name), '9999-later']);
  });

  test('leave everything as it was when one of them fails', async () => {
    const broken = {
      name: '9999-broken',
      async up(trx: Kysely<unknown>) {
        await trx.schema.createTable('half').addColumn('id', 'text').execute();
        throw new Error('the second half fails');
      },
    };
    await expect(migrate(db, sqliteSqlDialect, [...MIGRATIONS, broken])).rejects.toThrow(
      'the second half fails',
    );
    expect(await tables()).toEqual([]);
  });

  test('of a newer version are refused by name', async () => {
    await migrate(db, sqliteSqlDialect);
    await db
      .insertInto('schema_migrations')
      .values({ name: '9999-from-the-future', applied_at: '2030-01-01T00:00:00.000Z' })
      .execute();
    await expect(migrate(db, sqliteSqlDialect)).rejects.toMatchObject({
      code: 'service_unavailable',
      message:
        'the records database has the migration 9999-from-the-future, which this version does not know: start the version that made it, or a newer one',
    });
  });
});
