import type { Selectable } from 'kysely';
import { PortholeError } from '#core/errors.ts';
import type { EventData, RunEvent, TimelineRecords } from '#core/ports/timeline.ts';
import { checkLimit } from './keyset-page.ts';
import type { RunEventsTable } from './schema.ts';
import type { SqlSession } from './sql-session.ts';
import { unpublishedAmong, publishingTransaction } from './publishing-transaction.ts';

/** The highest number that a column of integers holds in PostgreSQL. */
const MAX_SEQ = 2_147_483_647;

export function timelineRecords(session: SqlSession): TimelineRecords {
  const { dialect, repeatable, notifier } = session;
  return {
    append: (runId, events, at) =>
      repeatable(async (db) => {
        if (events.length === 0) return;
        // Most of what is told is known already; that takes no lock and writes nothing.
        const { fresh } = await unpublishedAmong(db, dialect, runId, events, at);
        if (fresh.length > 0)
          await publishingTransaction(session, db, (_trx, publish) => publish(runId, fresh, at));
      }),

    read: (runId, { after, limit }) =>
      repeatable(async (db) => {
        checkLimit(limit);
        if (!Number.isInteger(after) || after < 0 || after > MAX_SEQ) {
          throw new PortholeError(
            'invalid_request',
            `after must be the id of an event, got ${after}: start again without it`,
          );
        }
        const rows = await db
          .selectFrom('run_events')
          .selectAll()
          .where('run_id', '=', runId)
          .where('seq', '>', after)
          .orderBy('seq')
          .limit(limit + 1)
          .execute();
        return { events: rows.slice(0, limit).map(toEvent), more: rows.length > limit };
      }),

    watch: (runId, wake) => notifier.watch(runId, wake),
  };
}

function toEvent(row: Selectable<RunEventsTable>): RunEvent {
  return {
    seq: row.seq,
    type: row.type,
    at: new Date(row.at),
    data: JSON.parse(row.data) as EventData,
  };
}
