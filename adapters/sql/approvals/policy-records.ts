import type { Kysely } from 'kysely';
import type { PolicyRecord, PolicyRecords } from '#core/ports/approvals.ts';
import type { Owner } from '#core/ports/owner.ts';
import { toPolicy } from './approval-rows.ts';
import { keysetPage } from '../keyset-page.ts';
import type { SqlSchema } from '../schema.ts';
import type { SqlSession } from '../sql-session.ts';

export function policyRecords({ once, repeatable }: SqlSession): PolicyRecords {
  return {
    covering: (owner, runId, tool) => repeatable((db) => coveringPolicy(db, owner, runId, tool)),

    get: (id) =>
      repeatable(async (db) => {
        const row = await db
          .selectFrom('approval_policies')
          .selectAll()
          .where('id', '=', id)
          .executeTakeFirst();
        return row && toPolicy(row);
      }),

    list: (owner, page) =>
      repeatable((db) => {
        const policies = db.selectFrom('approval_policies').selectAll();
        const own = owner
          ? policies.where('owner_org', '=', owner.org).where('owner_user', '=', owner.user)
          : policies;
        return keysetPage(own, page, toPolicy);
      }),

    // Not repeated: the second answer would be that there is none.
    delete: (id) =>
      once(async (db) => {
        const { numDeletedRows } = await db
          .deleteFrom('approval_policies')
          .where('id', '=', id)
          .executeTakeFirst();
        return numDeletedRows > 0n;
      }),
  };
}

/** The run's own before the owner's. */
export async function coveringPolicy(
  db: Kysely<SqlSchema>,
  owner: Owner,
  runId: string,
  tool: string,
): Promise<PolicyRecord | undefined> {
  const rows = await db
    .selectFrom('approval_policies')
    .selectAll()
    .where('owner_org', '=', owner.org)
    .where('owner_user', '=', owner.user)
    .where('tool', '=', tool)
    .where('run_id', 'in', [runId, ''])
    .execute();
  const row = rows.find((each) => each.run_id === runId) ?? rows[0];
  return row && toPolicy(row);
}
