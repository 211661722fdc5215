import { type Kysely, sql } from 'kysely';
import { PortholeError } from '#base/errors.ts';
import { type Migration, MIGRATIONS, type SqlSchema } from './schema.ts';
import { instantText, type SqlDialect } from './sql-dialect.ts';
import { inTransaction } from './sql-session.ts';

/** Steps with a greater name are noted in `schema_expansions` unless they contract. */
const FIRST = '0018-network-policies';

/** Applies every pending step. */
export async function migrate(db: Kysely<SqlSchema>, dialect: SqlDialect): Promise<void> {
  if (!(await isMigrated(db))) await applyMigrations(db, dialect);
}

/** Whether exactly the known steps are applied; false in doubt, which `applyMigrations` settles. */
async function isMigrated(db: Kysely<SqlSchema>): Promise<boolean> {
  try {
    const required = await db.selectFrom('schema_migrations').select('name').execute();
    const expansions = await db.selectFrom('schema_expansions').select('name').execute();
    const applied = new Set([...required, ...expansions].map(({ name }) => name));
    return (
      MIGRATIONS.every(({ name }) => applied.has(name)) && unknownStep(required, MIGRATIONS) === undefined
    );
  } catch {
    // An empty database has no such tables.
    return false;
  }
}

/** A step that a newer version has applied, and that this one does not need to know. */
export async function newerStep(db: Kysely<SqlSchema>): Promise<string | undefined> {
  return unknownStep(await db.selectFrom('schema_expansions').select('name').execute(), MIGRATIONS);
}

/** The name of a noted step that is of a newer version than these ones. */
function unknownStep(
  noted: readonly { readonly name: string }[],
  known: readonly Migration[],
): string | undefined {
  const names = new Set(known.map(({ name }) => name));
  return noted.find(({ name }) => name > FIRST && !names.has(name))?.name;
}

/**
 * Applies every pending step in one transaction that holds the dialect's migration lock: of several
 * instances that start together one migrates and the others find it done, and a crash leaves the
 * schema unchanged.
 *
 * Expand and contract: a step that expands is noted in `schema_expansions`, which versions without
 * it ignore, so that they start during a roll-out and after a roll-back. Of `schema_migrations` a
 * version must know every step: a database with an unknown one is refused with
 * `service_unavailable`.
 */
export async function applyMigrations(
  db: Kysely<SqlSchema>,
  dialect: SqlDialect,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  await inTransaction(db, async (trx) => {
    const execute = async (statements: string): Promise<void> => {
      const typed = statements.replaceAll(/\b(?:TEXT|BYTES)\b/g, (type) =>
        type === 'TEXT' ? dialect.text : dialect.bytes,
      );
      for (const statement of typed.split(';')) await sql.raw(statement).execute(trx);
    };
    await dialect.lockMigrations(trx);
    for (const table of ['schema_migrations', 'schema_expansions']) {
      await execute(`create table if not exists ${table} (name TEXT primary key, applied_at TEXT not null)`);
    }
    const required = await trx.selectFrom('schema_migrations').select('name').execute();
    const expansions = await trx.selectFrom('schema_expansions').select('name').execute();
    const applied = new Set([...required, ...expansions].map((row) => row.name));
    const unknown = unknownStep(required, migrations);
    if (unknown !== undefined) {
      throw new PortholeError(
        'service_unavailable',
        `the records database has the migration ${unknown}, which this version does not know`,
        { remedy: 'start the version that made it, or a newer one' },
      );
    }
    if (required.length > 0 && !applied.has(FIRST)) {
      throw new PortholeError(
        'service_unavailable',
        'the records database is of a version before 0.2.0, which this version does not upgrade',
        { remedy: 'start 0.2.0 with it once, then this version' },
      );
    }
    for (const migration of migrations) {
      if (applied.has(migration.name)) continue;
      await execute(migration.sql);
      await trx
        .insertInto(isExpansion(migration) ? 'schema_expansions' : 'schema_migrations')
        .values({ name: migration.name, applied_at: instantText(new Date()) })
        .execute();
    }
  });
}

function isExpansion({ name, contracts }: Migration): boolean {
  return contracts !== true && name > FIRST;
}
