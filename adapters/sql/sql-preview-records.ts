import type { Kysely } from 'kysely';
import type { PreviewRecords, Tombstone } from '#core/previews/preview-records.ts';
import { all, deleted, first, instantText } from './sql-dialect.ts';
import { columnsOf, fieldsOf } from './row-fields.ts';
import type { Row, SqlSchema } from './schema.ts';
import { inTransaction, type SqlSession } from './sql-session.ts';
import { publishingTransaction } from './publishing-transaction.ts';

/** Rows in one INSERT: four parameters each, far below SQLite's 32,766 and PostgreSQL's 65,535. */
const ROWS_AT_ONCE = 1000;

export function previewRecords(session: SqlSession): PreviewRecords {
  const { dialect, once, repeatable } = session;
  return {
    generation: (runId, targetPort) => repeatable((db) => readGeneration(db, runId, targetPort)),

    end: (runId, targetPort, from, tombstone, published = []) =>
      repeatable((db) =>
        publishingTransaction(session, db, async (trx, publish) => {
          if (from === 0) {
            // No row means generation 0: of two simultaneous inserts the second waits for the
            // first, and does nothing.
            await trx
              .insertInto('preview_generations')
              .values({ run_id: runId, target_port: targetPort, generation: 1 })
              .onConflict((conflict) => conflict.columns(['run_id', 'target_port']).doNothing())
              .execute();
          } else {
            await trx
              .updateTable('preview_generations')
              .set({ generation: from + 1 })
              .where('run_id', '=', runId)
              .where('target_port', '=', targetPort)
              .where('generation', '=', from)
              .execute();
          }
          await upsertTombstones(trx, [tombstone]);
          await publish(runId, published, tombstone.at);
          return readGeneration(trx, runId, targetPort);
        }),
      ),

    bury: (tombstones) =>
      repeatable((db) => {
        const rows = strongestOfEach(tombstones);
        return inTransaction(db, async (trx) => {
          for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
            await upsertTombstones(trx, rows.slice(at, at + ROWS_AT_ONCE));
          }
        });
      }),

    tombstone: (tokenSha256) =>
      repeatable((db) => {
        const found = db.selectFrom('preview_tombstones').where('token_sha256', '=', tokenSha256);
        return first(found.selectAll(), toTombstone);
      }),

    tombstoneNamed: (prefix) =>
      repeatable((db) => {
        // After every hex digit.
        const found = db
          .selectFrom('preview_tombstones')
          .where('token_sha256', '>=', prefix)
          .where('token_sha256', '<', `${prefix}g`);
        return first(found.selectAll().limit(1), toTombstone);
      }),

    stoppedAmong: (tokenSha256s) =>
      repeatable(async (db) => {
        const stopped = db
          .selectFrom('preview_tombstones')
          .select('token_sha256')
          .where(dialect.among('token_sha256', tokenSha256s))
          .where('reason', '=', 'stopped');
        return new Set(await all(stopped, (row) => row.token_sha256));
      }),

    // Not idempotent: a repeat would count 0.
    forget: (before) =>
      once((db) =>
        deleted(
          db
            .deleteFrom('preview_tombstones')
            .where('ended_at', '<', instantText(before))
            .where((row) =>
              row.or([
                row('reason', 'not in', ['expired', 'max_lifetime']),
                row('target_port', 'is', null),
                row.not(
                  row.exists(
                    row
                      .selectFrom('runs')
                      .innerJoin('sandboxes', 'sandboxes.id', 'runs.sandbox_id')
                      .select('runs.id')
                      .whereRef('runs.id', '=', 'preview_tombstones.run_id')
                      .where('sandboxes.desired', '<>', 'destroyed'),
                  ),
                ),
              ]),
            ),
        ),
      ),
  };
}

async function readGeneration(db: Kysely<SqlSchema>, runId: string, targetPort: number): Promise<number> {
  const row = await db
    .selectFrom('preview_generations')
    .select('generation')
    .where('run_id', '=', runId)
    .where('target_port', '=', targetPort)
    .executeTakeFirst();
  return row?.generation ?? 0;
}

/** The database compares the reasons, on the row as it is once no other transaction holds it. */
async function upsertTombstones(db: Kysely<SqlSchema>, tombstones: readonly Tombstone[]): Promise<void> {
  await db
    .insertInto('preview_tombstones')
    .values(tombstones.map(toRow))
    .onConflict((conflict) =>
      conflict
        .column('token_sha256')
        .doUpdateSet((set) => ({
          run_id: set.ref('excluded.run_id'),
          target_port: set.ref('excluded.target_port'),
          reason: set.ref('excluded.reason'),
          ended_at: set.ref('excluded.ended_at'),
        }))
        .where((where) =>
          where.or([
            where('preview_tombstones.reason', '<>', 'stopped'),
            where('excluded.reason', '=', 'stopped'),
          ]),
        ),
    )
    .execute();
}

/**
 * One tombstone per token, because one INSERT may not touch a row twice. Sorted by token, so that
 * concurrent inserts of the same previews wait instead of deadlocking.
 */
function strongestOfEach(tombstones: readonly Tombstone[]): Tombstone[] {
  const byToken = new Map<string, Tombstone>();
  for (const tombstone of tombstones) {
    const weaker = tombstone.reason !== 'stopped' && byToken.get(tombstone.tokenSha256)?.reason === 'stopped';
    if (!weaker) byToken.set(tombstone.tokenSha256, tombstone);
  }
  return [...byToken.values()].sort((a, b) => (a.tokenSha256 < b.tokenSha256 ? -1 : 1));
}

function toRow(tombstone: Tombstone): Row<'preview_tombstones'> {
  return {
    ...columnsOf(tombstone, ['tokenSha256', 'runId', 'reason']),
    target_port: tombstone.targetPort ?? null,
    ended_at: instantText(tombstone.at),
  };
}

function toTombstone(row: Row<'preview_tombstones'>): Tombstone {
  const { endedAt: at, targetPort, ...tombstone } = fieldsOf(row);
  return { ...tombstone, ...(targetPort !== null && { targetPort }), at };
}
