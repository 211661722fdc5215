import type { Kysely } from 'kysely';
import type { SqlSchema } from './schema.ts';
import type { SqlDialect } from './sql-dialect.ts';

/** Names of all steps, oldest first. A new one: a line here, its SQL in `migrations.ts`. */
export const MIGRATION_NAMES = [
  '0001-runs-sandboxes-previews',
  '0002-timelines-approvals',
  '0003-sandbox-generations',
  '0004-sandboxes-by-owner',
  '0005-sandbox-life',
  '0006-sandbox-sizes',
  '0007-archives',
  '0008-sandbox-ttl',
  '0009-images',
  '0010-skills',
  '0011-editor',
  '0012-delegations',
  '0013-sandbox-events',
  '0014-snapshot-bytes',
  '0015-ended-sessions',
  '0016-old-tool-runs',
  '0017-approval-scopes',
  '0018-network-policies',
  '0019-sandbox-event-keys',
  '0020-agent-token-versions',
  '0021-sandbox-secrets',
  '0022-looks-inbox',
  '0023-lists',
  '0025-sharing',
  '0026-run-viewers',
] as const;

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
    const known = new Set<string>(MIGRATION_NAMES);
    return (
      MIGRATION_NAMES.every((name) => applied.has(name)) && required.every(({ name }) => known.has(name))
    );
  } catch {
    // An empty database has no such tables.
    return false;
  }
}
