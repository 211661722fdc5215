import { sql } from 'kysely';
import type { SandboxEvent, SandboxEventRecords } from '#core/sandboxes/sandbox-events.ts';
import type { EventData } from '#core/runs/timeline.ts';
import { all, deleted, instantText } from './sql-dialect.ts';
import { checkLimit } from './keyset-page.ts';
import type { Row } from './schema.ts';
import { notifyingTransaction } from './publishing-transaction.ts';
import type { SqlSession } from './sql-session.ts';

/** Prefixed, because delegations of a sandbox are watched under the bare id. */
const notifierOf = (sandboxId: string) => `events:${sandboxId}`;

function toEvent({ seq, type, at, data }: Row<'sandbox_events'>): SandboxEvent {
  return { seq, type, at: new Date(at), data: JSON.parse(data) as EventData };
}

export function sandboxEventRecords(session: SqlSession): SandboxEventRecords {
  const { dialect, notifier, once, repeatable } = session;
  return {
    append: (sandboxId, events, kept) =>
      once((db) =>
        notifyingTransaction(session, db, async (trx, notify) => {
          // Locked until the end: this keeps the numbers in the order of the commits.
          const sandbox = await trx
            .selectFrom('sandboxes')
            .select('generation')
            .where('id', '=', sandboxId)
            .where('observed', '!=', 'destroyed')
            .modifyEnd(dialect.forUpdate)
            .executeTakeFirst();
          if (sandbox === undefined || events.length === 0) return;
          const keys = events.flatMap(({ key }) => key ?? []);
          const stored = trx
            .selectFrom('sandbox_events')
            .select('key')
            .where('sandbox_id', '=', sandboxId)
            .where('generation', '=', sandbox.generation)
            .where('key', 'in', keys.length === 0 ? [''] : keys);
          const seen = new Set(await all(stored, ({ key }) => key));
          const fresh = events.filter(({ key }) => {
            if (key === undefined) return true;
            const isFirst = !seen.has(key);
            seen.add(key);
            return isFirst;
          });
          if (fresh.length === 0) return;
          const { last } = await trx
            .selectFrom('sandbox_events')
            .select(sql<number | null>`max(seq)`.as('last'))
            .where('sandbox_id', '=', sandboxId)
            .executeTakeFirstOrThrow();
          const first = (last ?? 0) + 1;
          await trx
            .insertInto('sandbox_events')
            .values(
              fresh.map(({ type, at, data, key }, index) => ({
                sandbox_id: sandboxId,
                seq: first + index,
                generation: sandbox.generation,
                type,
                at: instantText(at),
                data: JSON.stringify(data),
                key: key ?? null,
              })),
            )
            .execute();
          await trx
            .deleteFrom('sandbox_events')
            .where('sandbox_id', '=', sandboxId)
            .where('seq', '<', first + fresh.length - kept)
            .execute();
          await notify(notifierOf(sandboxId));
        }),
      ),

    read: (sandboxId, { after, limit }) =>
      repeatable(async (db) => {
        checkLimit(limit);
        const rows = await db
          .selectFrom('sandbox_events')
          .innerJoin('sandboxes', (join) =>
            join
              .onRef('sandboxes.id', '=', 'sandbox_events.sandbox_id')
              .onRef('sandboxes.generation', '=', 'sandbox_events.generation'),
          )
          .selectAll('sandbox_events')
          .where('sandbox_id', '=', sandboxId)
          .where('seq', '>', after)
          .orderBy('seq')
          .limit(limit + 1)
          .execute();
        return {
          events: rows.slice(0, limit).map(toEvent),
          more: rows.length > limit,
        };
      }),

    since: (sandboxId, type, from, limit) =>
      repeatable(async (db) => {
        checkLimit(limit);
        const found = db
          .selectFrom('sandbox_events')
          .selectAll()
          .where('sandbox_id', '=', sandboxId)
          .where('type', '=', type)
          .where('at', '>=', instantText(from));
        return all(found.orderBy('seq', 'desc').limit(limit), toEvent);
      }),

    lastChanges: (from) =>
      repeatable((db) => {
        const found = db
          .selectFrom('sandbox_events')
          .select(({ fn }) => ['sandbox_id', fn.max('at').as('last')])
          .where('at', '>=', instantText(from))
          .where('type', 'in', ['exec', 'file_written', 'file_deleted']);
        const grouped = found.groupBy('sandbox_id').orderBy('last');
        return all(grouped, ({ sandbox_id, last }) => ({ sandboxId: sandbox_id, at: new Date(last) }));
      }),

    watch: (sandboxId, wake) => notifier.watch(notifierOf(sandboxId), wake),

    forget: (before) =>
      repeatable((db) => deleted(db.deleteFrom('sandbox_events').where('at', '<', instantText(before)))),
  };
}
