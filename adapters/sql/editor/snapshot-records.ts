import { sql } from 'kysely';
import type { EditorRecords } from '#core/ports/editor.ts';
import { instantText } from '../instant.ts';
import type { SqlSession } from '../sql-session.ts';
import { toSnapshot } from './editor-rows.ts';
import { RUNNING } from './tool-run-records.ts';

type SnapshotRecords = Pick<EditorRecords, 'snapshot' | 'expiredSnapshots' | 'removeSnapshots'>;

export function snapshotRecords({ dialect, repeatable }: SqlSession): SnapshotRecords {
  return {
    snapshot: (id) =>
      repeatable(async (db) => {
        const row = await db
          .selectFrom('sandbox_snapshots')
          .selectAll()
          .where('id', '=', id)
          .executeTakeFirst();
        return row && toSnapshot(row);
      }),

    expiredSnapshots: (now, limit) =>
      repeatable(async (db) => {
        const rows = await db
          .selectFrom('sandbox_snapshots')
          .select('id')
          .where('expires_at', '<=', instantText(now))
          .where(quiet(now))
          .orderBy('expires_at')
          .orderBy('id')
          .limit(limit)
          .execute();
        return rows.map(({ id }) => id);
      }),

    removeSnapshots: (ids, now) =>
      repeatable(async (db) => {
        const removed = await db
          .deleteFrom('sandbox_snapshots')
          .where(dialect.among('id', ids))
          .where('expires_at', '<=', instantText(now))
          .where(quiet(now))
          .returning('id')
          .execute();
        return removed.length;
      }),
  };
}

/** No run of it is under way. */
function quiet(now: Date) {
  const running = sql`${RUNNING} and tool_runs.deadline > ${instantText(now)}`;
  return sql<boolean>`not exists (select 1 from tool_runs where tool_runs.snapshot_id = sandbox_snapshots.id and ${running})`;
}
