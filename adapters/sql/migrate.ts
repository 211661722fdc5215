import type { Kysely } from 'kysely';
import { PortholeError } from '#core/errors.ts';
import { instantText } from './instant.ts';
import type { Migration } from './migration.ts';
import { MIGRATIONS } from './migrations.ts';
import type { SqlSchema } from './schema.ts';
import type { SqlDialect } from './sql-dialect.ts';
import { inTransaction } from './sql-session.ts';

/**
 * Applies every pending step in one transaction that holds the dialect's migration lock: of several instances that
 * start at once one migrates and the others find it done, and a crash leaves the schema as it was. A database with
 * steps that this version does not know belongs to a newer one, and is refused with `service_unavailable`.
 */
export async function migrate(
  db: Kysely<SqlSchema>,
  dialect: SqlDialect,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  await inTransaction(db, async (trx) => {
    await dialect.lockMigrations(trx);
    await trx.schema
      .createTable('schema_migrations')
      .ifNotExists()
      .addColumn('name', dialect.text, (column) => column.primaryKey())
      .addColumn('applied_at', dialect.text, (column) => column.notNull())
      .execute();
    const rows = await trx.selectFrom('schema_migrations').select('name').execute();
    const applied = new Set(rows.map((row) => row.name));
    for (const name of applied) {
      if (migrations.some((migration) => migration.name === name)) continue;
      throw new PortholeError(
        'service_unavailable',
        `the records database has the migration ${name}, which this version does not know: start the version that made it, or a newer one`,
      );
    }
    for (const migration of migrations) {
      if (applied.has(migration.name)) continue;
      await migration.up(trx as unknown as Kysely<unknown>, dialect.text, dialect.bytes);
      await trx
        .insertInto('schema_migrations')
        .values({ name: migration.name, applied_at: instantText(new Date()) })
        .execute();
    }
  });
}
