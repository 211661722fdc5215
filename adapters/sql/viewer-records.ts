import type { ViewerRecords } from '#core/runs/run-viewers.ts';
import { all, count, deleted, instantText } from './sql-dialect.ts';
import { inTransaction, type SqlSession } from './sql-session.ts';

export function viewerRecords({ dialect, repeatable }: SqlSession): ViewerRecords {
  return {
    add: (runId, viewer, { at, since, most }) =>
      repeatable((db) =>
        inTransaction(db, async (trx) => {
          await dialect.lockKey(trx, JSON.stringify(['run viewers', runId]));
          const others = trx
            .selectFrom('run_viewers')
            .where('run_id', '=', runId)
            .where('viewer', '!=', viewer)
            .where('seen_at', '>=', instantText(since));
          if ((await count(others)) >= most) return;
          const seen = { seen_at: instantText(at) };
          await trx
            .insertInto('run_viewers')
            .values({ run_id: runId, viewer, ...seen })
            .onConflict((conflict) => conflict.columns(['run_id', 'viewer']).doUpdateSet(seen))
            .execute();
        }),
      ),

    list: (runId, since) =>
      repeatable((db) => {
        const viewers = db
          .selectFrom('run_viewers')
          .select('viewer')
          .where('run_id', '=', runId)
          .where('seen_at', '>=', instantText(since));
        return all(viewers.orderBy('viewer'), ({ viewer }) => viewer);
      }),

    forget: (before) =>
      repeatable((db) => deleted(db.deleteFrom('run_viewers').where('seen_at', '<', instantText(before)))),
  };
}
