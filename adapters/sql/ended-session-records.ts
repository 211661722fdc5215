import type { EndedSessionRecords } from '#core/ports/ended-sessions.ts';
import { instantText } from './instant.ts';
import type { SqlSession } from './sql-session.ts';

export function endedSessionRecords({ repeatable }: SqlSession): EndedSessionRecords {
  return {
    add: (id, until) =>
      repeatable(async (db) => {
        await db
          .insertInto('ended_sessions')
          .values({ id, until: instantText(until) })
          .onConflict((conflict) => conflict.column('id').doNothing())
          .execute();
      }),

    has: (id) =>
      repeatable(async (db) => {
        const row = await db
          .selectFrom('ended_sessions')
          .select('id')
          .where('id', '=', id)
          .executeTakeFirst();
        return row !== undefined;
      }),

    forget: (before) =>
      repeatable(async (db) => {
        const { numDeletedRows } = await db
          .deleteFrom('ended_sessions')
          .where('until', '<', instantText(before))
          .executeTakeFirst();
        return Number(numDeletedRows);
      }),
  };
}
