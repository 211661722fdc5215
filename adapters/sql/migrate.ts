import type { Kysely } from 'kysely';
import type { SqlSchema } from './schema.ts';
import type { SqlDialect } from './sql-dialect.ts';

/**
 * Names of all steps, oldest first. A new one: a line here, its SQL in `migrations.ts`. The first
 * makes the schema of 0.2.0, where the names before it are noted as well.
 */
export const MIGRATION_NAMES = [
  '0018-network-policies',
  '0019-sandbox-event-keys',
  '0020-agent-token-versions',
  '0021-sandbox-secrets',
  '0022-looks-inbox',
  '0023-lists',
  '0025-sharing',
  '0026-run-viewers',
  '0027-api-keys',
] as const;

/** The name of a noted step that is of a newer version than these ones. */
export function unknownStep(
  noted: readonly { readonly name: string }[],
  known: readonly string[] = MIGRATION_NAMES,
): string | undefined {
  return noted.find(({ name }) => name > MIGRATION_NAMES[0] && !known.includes(name))?.name;
}

/** Applies every pending step. Loads the steps only if one is pending. */
export async function migrate(db: Kysely<SqlSchema>, dialect: SqlDialect): Promise<void> {
  if (await isMigrated(db)) return;
  const { applyMigrations } = await import('./migrations.ts');
  await applyMigrations(db, dialect);
}

/** Whether exactly the known steps are applied; false in doubt, which `applyMigrations` settles. */
async function isMigrated(db: Kysely<SqlSchema>): Promise<boolean> {
  try {
    const required = await db.selectFrom('schema_migrations').select('name').execute();
    const expansions = await db.selectFrom('schema_expansions').select('name').execute();
    const applied = new Set([...required, ...expansions].map(({ name }) => name));
    return MIGRATION_NAMES.every((name) => applied.has(name)) && unknownStep(required) === undefined;
  } catch {
    // An empty database has no such tables.
    return false;
  }
}
