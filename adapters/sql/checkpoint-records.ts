import type { Transaction } from 'kysely';
import type { Owner } from '#base/clock-and-ids.ts';
import type {
  CheckpointEvent,
  CheckpointRecord,
  CheckpointRecords,
} from '#core/checkpoints/checkpoint-store.ts';
import type { SandboxKey } from '#core/sandboxes/sandbox-records.ts';
import { type Publish, publishingTransaction } from './publishing-transaction.ts';
import { keysetPage } from './keyset-page.ts';
import { columnsOf, fieldsOf } from './row-fields.ts';
import type { Row, SqlSchema } from './schema.ts';
import { all, done, first, instantText, ownedBy } from './sql-dialect.ts';
import type { SqlSession } from './sql-session.ts';

/** A checkpoint of which nothing is stored yet. */
const UNFINISHED = {
  files: 0,
  bytes: 0,
  stored_bytes: 0,
  left_out: 0,
  is_consistent: 0,
  manifest_sha256: '',
  base_id: null,
  packs: '{}',
  servers: '[]',
} as const;

const HEAD_FIELDS = ['family', 'checkpointId', 'madeId'] as const;

export function checkpointRecords(session: SqlSession): CheckpointRecords {
  const { repeatable, transact, once, dialect } = session;
  return {
    begin: (checkpoint, needed) =>
      transact(async (trx) => {
        if (needed.length > 0) {
          const found = await trx
            .selectFrom('checkpoints')
            .select('state')
            .where(dialect.among('id', needed))
            .orderBy('id')
            .modifyEnd(dialect.forUpdate)
            .execute();
          if (found.filter(({ state }) => state === 'ready').length < needed.length) return false;
        }
        const row = {
          ...columnsOf(checkpoint, [
            'id',
            'owner',
            'sandboxId',
            'generation',
            'family',
            'parentId',
            'label',
            'cause',
            'createdAt',
            'image',
          ]),
          state: 'creating' as const,
          variables: JSON.stringify(checkpoint.variables),
        };
        await trx
          .insertInto('checkpoints')
          .values({ ...UNFINISHED, ...row })
          .execute();
        return true;
      }),

    finish: (checkpoint, finished, published) =>
      once((db) =>
        publishingTransaction(session, db, async (trx, publish) => {
          const { packs, servers, memory, ...rest } = finished;
          const row = {
            ...columnsOf(rest, [
              'files',
              'bytes',
              'storedBytes',
              'leftOut',
              'isConsistent',
              'manifestSha256',
              'baseId',
            ]),
            packs: JSON.stringify(packs),
            servers: JSON.stringify(servers),
            memory: memory && JSON.stringify(memory),
            state: 'ready' as const,
          };
          const { id, family, sandboxId, generation } = checkpoint;
          await done(
            trx.updateTable('checkpoints').set(row).where('id', '=', id).where('state', '=', 'creating'),
          );
          const head = { family, checkpoint_id: id, made_id: id };
          await done(
            trx
              .insertInto('checkpoint_heads')
              .values({ sandbox_id: sandboxId, generation, ...head })
              .onConflict((conflict) => conflict.columns(['sandbox_id', 'generation']).doUpdateSet(head)),
          );
          await publishInRuns(trx, publish, published);
          return { ...checkpoint, ...finished, state: 'ready' };
        }),
      ),

    get: (id) =>
      repeatable((db) => first(db.selectFrom('checkpoints').selectAll().where('id', '=', id), toRecord)),

    list: ({ id, generation }) =>
      repeatable((db) =>
        all(
          db
            .selectFrom('checkpoints')
            .selectAll()
            .where('sandbox_id', '=', id)
            .where('generation', '=', generation)
            .where('state', '=', 'ready')
            .orderBy('id'),
          toRecord,
        ),
      ),

    listManual: (owner, { sandboxId, name }, page) =>
      repeatable((db) => {
        const found = db
          .selectFrom('checkpoints')
          .selectAll()
          .where('state', '=', 'ready')
          .where('cause', '=', 'manual')
          .$if(owner !== undefined, (query) => query.where(ownedBy(owner as Owner)))
          .$if(sandboxId !== undefined, (query) => query.where('sandbox_id', '=', sandboxId as string))
          .$if(name !== undefined, (query) => query.where('label', '=', name as string));
        return keysetPage(found, page, toRecord);
      }),

    head: (sandbox) =>
      repeatable((db) =>
        first(
          db
            .selectFrom('checkpoint_heads')
            .select(['family', 'checkpoint_id', 'made_id'])
            .where('sandbox_id', '=', sandbox.id)
            .where('generation', '=', sandbox.generation),
          fieldsOf,
        ),
      ),

    setHead: (sandbox, head, published) =>
      repeatable((db) =>
        publishingTransaction(session, db, async (trx, publish) => {
          const row = columnsOf(head, HEAD_FIELDS);
          await done(
            trx
              .insertInto('checkpoint_heads')
              .values({ ...keyOf(sandbox), ...row })
              .onConflict((conflict) => conflict.columns(['sandbox_id', 'generation']).doUpdateSet(row)),
          );
          await publishInRuns(trx, publish, published);
        }),
      ),

    markDeleted: (ids) =>
      repeatable(async (db) => {
        if (ids.length === 0) return false;
        const { numUpdatedRows } = await db
          .updateTable('checkpoints')
          .set({ state: 'deleted' })
          .where(dialect.among('id', ids))
          .where('state', '=', 'ready')
          .executeTakeFirst();
        return numUpdatedRows > 0n;
      }),

    markAllDeleted: (sandbox) =>
      repeatable(async (db) => {
        const { id, generation } = sandbox;
        await done(
          db
            .updateTable('checkpoints')
            .set({ state: 'deleted' })
            .where('sandbox_id', '=', id)
            .where('generation', '=', generation)
            .where('state', '=', 'ready'),
        );
        await done(
          db.deleteFrom('checkpoint_heads').where('sandbox_id', '=', id).where('generation', '=', generation),
        );
      }),

    family: (family) =>
      repeatable((db) =>
        all(db.selectFrom('checkpoints').selectAll().where('family', '=', family), toRecord),
      ),

    forgetMemory: ({ id, storedBytes, memory }) =>
      repeatable((db) =>
        done(
          db
            .updateTable('checkpoints')
            .set({ memory: null, stored_bytes: storedBytes - (memory?.bytes ?? 0) })
            .where('id', '=', id)
            .where('memory', 'is not', null),
        ),
      ),

    remove: (ids) =>
      repeatable(async (db) => {
        if (ids.length > 0) await done(db.deleteFrom('checkpoints').where(dialect.among('id', ids)));
      }),

    untidyFamilies: (before) =>
      repeatable((db) =>
        all(
          db
            .selectFrom('checkpoints')
            .select('family')
            .distinct()
            .where((where) =>
              where.or([
                where('state', '=', 'deleted'),
                where.and([where('state', '=', 'creating'), where('created_at', '<', instantText(before))]),
              ]),
            ),
          ({ family }) => family,
        ),
      ),

    storedBytes: (owner) =>
      repeatable(async (db) => {
        const row = await db
          .selectFrom('checkpoints')
          .select(({ fn }) => fn.sum<number | string | null>('stored_bytes').as('bytes'))
          .where(ownedBy(owner))
          .executeTakeFirst();
        return Number(row?.bytes ?? 0);
      }),
  };
}

async function publishInRuns(
  trx: Transaction<SqlSchema>,
  publish: Publish,
  published: CheckpointEvent | undefined,
): Promise<void> {
  if (published === undefined) return;
  const runs = trx.selectFrom('runs').select('id').where('sandbox_id', '=', published.sandboxId);
  const active = await runs.where('status', '=', 'running').orderBy('id').execute();
  for (const { id } of active) await publish(id, [published.event], published.at);
}

const keyOf = ({ id, generation }: SandboxKey) => ({ sandbox_id: id, generation });

function toRecord(row: Row<'checkpoints'>): CheckpointRecord {
  const { packs, servers, variables, memory, ...rest } = fieldsOf(row);
  return {
    ...rest,
    bytes: Number(row.bytes),
    storedBytes: Number(row.stored_bytes),
    isConsistent: row.is_consistent !== 0,
    packs: JSON.parse(packs) as CheckpointRecord['packs'],
    memory: memory === null ? null : (JSON.parse(memory) as CheckpointRecord['memory']),
    servers: JSON.parse(servers) as CheckpointRecord['servers'],
    variables: JSON.parse(variables) as CheckpointRecord['variables'],
  };
}
