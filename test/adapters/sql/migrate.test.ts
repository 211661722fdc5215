import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Kysely } from 'kysely';
import { applyMigrations, migrate, newerStep } from '#adapters/sql/migrate.ts';
import { MIGRATIONS, type SqlSchema } from '#adapters/sql/schema.ts';
import { nodeSqliteDialect } from '#adapters/sql/sqlite/node-sqlite.ts';
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

  test('have distinct numbers, in their order', () => {
    const numbers = MIGRATIONS.map(({ name }) => /^(\d{4})-/.exec(name)?.[1]);
    expect(numbers).not.toContain(undefined);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => Number(a) - Number(b)));
  });

  test('are only looked up, without a transaction, once all are applied', async () => {
    const statements: string[] = [];
    const logged = new Kysely<SqlSchema>({
      dialect: nodeSqliteDialect({ file: ':memory:', busyTimeoutMs: 0 }),
      log: ({ query }) => void statements.push(query.sql),
    });
    try {
      await migrate(logged, sqliteSqlDialect);
      statements.length = 0;
      await migrate(logged, sqliteSqlDialect);
      expect(statements).toEqual([
        'select "name" from "schema_migrations"',
        'select "name" from "schema_expansions"',
      ]);
    } finally {
      await logged.destroy();
    }
  });

  test('make these tables', async () => {
    await migrate(db, sqliteSqlDialect);
    expect(await newerStep(db)).toBeUndefined();
    expect(await tables()).toEqual([
      'api_keys',
      'approval_denials',
      'approval_policies',
      'approval_waiters',
      'approvals',
      'archives',
      'audit_events',
      'audit_heads',
      'checkpoint_heads',
      'checkpoints',
      'delegations',
      'ended_sessions',
      'images',
      'inbox_messages',
      'looks',
      'preview_access',
      'preview_blocks',
      'preview_generations',
      'preview_links',
      'preview_names',
      'preview_tombstones',
      'preview_visits',
      'preview_wakes',
      'run_events',
      'run_viewers',
      'runs',
      'sandbox_events',
      'sandbox_snapshots',
      'sandbox_tokens',
      'sandbox_usage',
      'sandboxes',
      'schema_expansions',
      'schema_migrations',
      'skills',
      'tool_drafts',
      'tool_runs',
      'tool_versions',
      'tools',
      'webhook_deliveries',
      'webhooks',
    ]);
  });

  test('are each applied once, also when one is added later', async () => {
    await migrate(db, sqliteSqlDialect);
    const later = { name: '9999-later', sql: 'create table later (id TEXT)' };
    await applyMigrations(db, sqliteSqlDialect, [...MIGRATIONS, later]);
    await applyMigrations(db, sqliteSqlDialect, [...MIGRATIONS, later]);
    expect(await tables()).toContain('later');
    const required = await db.selectFrom('schema_migrations').select('name').execute();
    const expansions = await db.selectFrom('schema_expansions').select('name').execute();
    expect([...required, ...expansions].map(({ name }) => name).sort()).toEqual([
      ...MIGRATIONS.map(({ name }) => name),
      '9999-later',
    ]);
  });

  test('are refused in a database of a version before 0.2.0, which stays as it was', async () => {
    await db.schema
      .createTable('schema_migrations')
      .addColumn('name', 'text')
      .addColumn('applied_at', 'text')
      .execute();
    await db
      .insertInto('schema_migrations')
      .values({ name: '0017-approval-scopes', applied_at: '2026-03-01T12:00:00.000Z' })
      .execute();
    await expect(migrate(db, sqliteSqlDialect)).rejects.toMatchObject({
      code: 'service_unavailable',
      message: expect.stringMatching(/version before 0\.2\.0.*start 0\.2\.0 with it once/),
    });
    expect(await tables()).toEqual(['schema_migrations']);
  });

  test('leave everything as it was when one of them fails', async () => {
    const twice = 'create table half (id TEXT); create table half (id TEXT)';
    const broken = { name: '9999-broken', sql: twice };
    await expect(applyMigrations(db, sqliteSqlDialect, [...MIGRATIONS, broken])).rejects.toThrow(
      'table half already exists',
    );
    expect(await tables()).toEqual([]);
  });

  test('do not keep an older version from starting, because they expand the schema', async () => {
    const expands = { name: '9998-from-the-future', sql: 'alter table runs add column mood TEXT' };
    await applyMigrations(db, sqliteSqlDialect, [...MIGRATIONS, expands]);
    await migrate(db, sqliteSqlDialect);
    expect(await newerStep(db)).toBe('9998-from-the-future');
    // The newer version finds its step done after the roll-back.
    await applyMigrations(db, sqliteSqlDialect, [...MIGRATIONS, expands]);
  });

  test('remove, rename and require nothing when they expand the schema', async () => {
    const statements: string[] = [];
    const logged = new Kysely<SqlSchema>({
      dialect: nodeSqliteDialect({ file: ':memory:', busyTimeoutMs: 0 }),
      log: ({ query }) => void statements.push(query.sql.toLowerCase()),
    });
    try {
      const released = MIGRATIONS.filter(({ name }) => name <= '0018-network-policies');
      await applyMigrations(logged, sqliteSqlDialect, released);
      statements.length = 0;
      await applyMigrations(
        logged,
        sqliteSqlDialect,
        MIGRATIONS.filter(({ contracts }) => contracts !== true),
      );
    } finally {
      await logged.destroy();
    }
    expect(statements.join('\n')).toContain('alter table');
    const isRequired = (sql: string) =>
      sql.includes('add column') && sql.includes(' not null') && !sql.includes(' default ');
    expect(statements.filter((sql) => /\b(drop|rename)\b/.test(sql) || isRequired(sql))).toEqual([]);
  });

  test('are refused by name when they are of a newer version and contract the schema', async () => {
    const contracts = {
      name: '9999-from-the-future',
      contracts: true as const,
      sql: 'alter table runs drop column agent_token_version',
    };
    await applyMigrations(db, sqliteSqlDialect, [...MIGRATIONS, contracts]);
    await expect(migrate(db, sqliteSqlDialect)).rejects.toMatchObject({
      code: 'service_unavailable',
      message:
        'the records database has the migration 9999-from-the-future, which this version does not know: start the version that made it, or a newer one',
    });
  });
});
