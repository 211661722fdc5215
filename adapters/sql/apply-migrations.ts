import type { Kysely } from 'kysely';
import { PortholeError } from '#core/errors.ts';
import type { Migration } from './migration.ts';
import { runsSandboxesPreviews } from './migrations/0001-runs-sandboxes-previews.ts';
import { timelinesApprovals } from './migrations/0002-timelines-approvals.ts';
import { sandboxGenerations } from './migrations/0003-sandbox-generations.ts';
import { sandboxesByOwner } from './migrations/0004-sandboxes-by-owner.ts';
import { sandboxLife } from './migrations/0005-sandbox-life.ts';
import { sandboxSizes } from './migrations/0006-sandbox-sizes.ts';
import { archives } from './migrations/0007-archives.ts';
import { sandboxTtl } from './migrations/0008-sandbox-ttl.ts';
import { images } from './migrations/0009-images.ts';
import { skills } from './migrations/0010-skills.ts';
import { editor } from './migrations/0011-editor.ts';
import { delegations } from './migrations/0012-delegations.ts';
import { sandboxEvents } from './migrations/0013-sandbox-events.ts';
import { snapshotBytes } from './migrations/0014-snapshot-bytes.ts';
import { endedSessions } from './migrations/0015-ended-sessions.ts';
import { oldToolRuns } from './migrations/0016-old-tool-runs.ts';
import { approvalScopes } from './migrations/0017-approval-scopes.ts';
import { networkPolicies } from './migrations/0018-network-policies.ts';
import { sandboxEventKeys } from './migrations/0019-sandbox-event-keys.ts';
import { agentTokenVersions } from './migrations/0020-agent-token-versions.ts';
import { sandboxSecrets } from './migrations/0021-sandbox-secrets.ts';
import { looksInbox } from './migrations/0022-looks-inbox.ts';
import { lists } from './migrations/0023-lists.ts';
import { sharing } from './migrations/0025-sharing.ts';
import { runViewers } from './migrations/0026-run-viewers.ts';
import type { SqlSchema } from './schema.ts';
import { instantText, type SqlDialect } from './sql-dialect.ts';
import { inTransaction } from './sql-session.ts';

/**
 * Every step, oldest first. A new table: a file in `migrations/`, a line here and in
 * `migrate.ts`, its type in `schema.ts`.
 */
export const MIGRATIONS: readonly Migration[] = [
  runsSandboxesPreviews,
  timelinesApprovals,
  sandboxGenerations,
  sandboxesByOwner,
  sandboxLife,
  sandboxSizes,
  archives,
  sandboxTtl,
  images,
  skills,
  editor,
  delegations,
  sandboxEvents,
  snapshotBytes,
  endedSessions,
  oldToolRuns,
  approvalScopes,
  networkPolicies,
  sandboxEventKeys,
  agentTokenVersions,
  sandboxSecrets,
  looksInbox,
  lists,
  sharing,
  runViewers,
];

/** Every version up to this step refuses a database with unknown rows in `schema_migrations`. */
const LAST_BEFORE_EXPANSIONS = networkPolicies.name;

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
    await dialect.lockMigrations(trx);
    for (const table of ['schema_migrations', 'schema_expansions'] as const) {
      await trx.schema
        .createTable(table)
        .ifNotExists()
        .addColumn('name', dialect.text, (column) => column.primaryKey())
        .addColumn('applied_at', dialect.text, (column) => column.notNull())
        .execute();
    }
    const required = await trx.selectFrom('schema_migrations').select('name').execute();
    const expansions = await trx.selectFrom('schema_expansions').select('name').execute();
    const applied = new Set([...required, ...expansions].map((row) => row.name));
    for (const { name } of required) {
      if (migrations.some((migration) => migration.name === name)) continue;
      throw new PortholeError(
        'service_unavailable',
        `the records database has the migration ${name}, which this version does not know`,
        { remedy: 'start the version that made it, or a newer one' },
      );
    }
    for (const migration of migrations) {
      if (applied.has(migration.name)) continue;
      await migration.up(trx as unknown as Kysely<unknown>, dialect.text, dialect.bytes);
      await trx
        .insertInto(isExpansion(migration) ? 'schema_expansions' : 'schema_migrations')
        .values({ name: migration.name, applied_at: instantText(new Date()) })
        .execute();
    }
  });
}

function isExpansion({ name, contracts }: Migration): boolean {
  return contracts !== true && name > LAST_BEFORE_EXPANSIONS;
}
