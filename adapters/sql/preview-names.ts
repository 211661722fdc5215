import type { Kysely } from 'kysely';
import type { GivenName, NamedPort, PreviewNames } from '#core/previews/name-store.ts';
import type { SqlSchema } from './schema.ts';
import { count, deleted, first, instantText } from './sql-dialect.ts';
import { inTransaction, type SqlSession } from './sql-session.ts';

export function previewNames({ dialect, repeatable }: SqlSession): PreviewNames {
  return {
    find: ({ zone, name }) =>
      repeatable((db) =>
        first(
          ofName(db, { zone, name }).where('released_at', 'is', null),
          ({ run_id: runId, target_port: targetPort }) => ({ runId, targetPort }),
        ),
      ),

    of: ({ runId, targetPort }) =>
      repeatable((db) =>
        first(
          db
            .selectFrom('preview_names')
            .select(['zone', 'name'])
            .where('run_id', '=', runId)
            .where('target_port', '=', targetPort)
            .where('released_at', 'is', null),
          ({ zone, name }) => ({ zone, name }),
        ),
      ),

    claim: ({ zone, name, runId, targetPort, owner: { org, user } }, at, most) =>
      repeatable((db) =>
        inTransaction(db, async (trx) => {
          // Always in this order: no two wait for each other.
          await dialect.lockKey(trx, JSON.stringify(['preview names', org, user]));
          await dialect.lockKey(trx, JSON.stringify(['preview name', zone, name]));
          const known = await first(ofName(trx, { zone, name }), (row) => row);
          const isOfPort = known?.run_id === runId && known.target_port === targetPort;
          const isOfOwner = known?.owner_org === org && known.owner_user === user;
          if (known !== undefined && !isOfPort && (known.released_at === null || !isOfOwner)) return 'taken';
          const ofOwner = trx
            .selectFrom('preview_names')
            .where('owner_org', '=', org)
            .where('owner_user', '=', user);
          if (known === undefined && (await count(ofOwner)) >= most) return 'too_many';
          if (isOfPort && known?.released_at === null) return 'claimed';
          await release(trx, { runId, targetPort }, at);
          const port = { run_id: runId, target_port: targetPort, released_at: null };
          await trx
            .insertInto('preview_names')
            .values({ zone, name, owner_org: org, owner_user: user, ...port })
            .onConflict((conflict) => conflict.columns(['zone', 'name']).doUpdateSet(port))
            .execute();
          return 'claimed';
        }),
      ),

    release: (port, at) => repeatable((db) => release(db, port, at)),

    forget: (now, before) =>
      repeatable(async (db) => {
        await db
          .updateTable('preview_names')
          .set({ released_at: instantText(now) })
          .where('released_at', 'is', null)
          .where((row) =>
            row.not(
              row.exists(
                row
                  .selectFrom('runs')
                  .innerJoin('sandboxes', 'sandboxes.id', 'runs.sandbox_id')
                  .select('runs.id')
                  .whereRef('runs.id', '=', 'preview_names.run_id')
                  .whereRef('sandboxes.created_at', '<=', 'runs.created_at')
                  .where('sandboxes.desired', '<>', 'destroyed'),
              ),
            ),
          )
          .execute();
        return deleted(db.deleteFrom('preview_names').where('released_at', '<', instantText(before)));
      }),
  };
}

function ofName(db: Kysely<SqlSchema>, { zone, name }: GivenName) {
  return db.selectFrom('preview_names').selectAll().where('zone', '=', zone).where('name', '=', name);
}

async function release(db: Kysely<SqlSchema>, { runId, targetPort }: NamedPort, at: Date): Promise<void> {
  await db
    .updateTable('preview_names')
    .set({ released_at: instantText(at) })
    .where('run_id', '=', runId)
    .where('target_port', '=', targetPort)
    .where('released_at', 'is', null)
    .execute();
}
