import { randomBytes } from 'node:crypto';
import canonicalize from 'canonicalize';
import { type Kysely, sql } from 'kysely';
import { ulid } from '#adapters/system/clock-and-random-ids.ts';
import { CHAIN_START, detailsHash, rowHash } from '#core/audit/audit-chain.ts';
import type {
  AuditDetails,
  AuditFilter,
  AuditHead,
  AuditRecords,
  AuditRow,
  NewAuditEvent,
} from '#core/audit/audit-event.ts';
import { presentCause } from '#core/audit/present-cause.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import { checkLimit } from './keyset-page.ts';
import { type Columns, columnsOf, fieldsOf } from './row-fields.ts';
import type { Row, SqlSchema } from './schema.ts';
import { all, deleted, done, first, instantText } from './sql-dialect.ts';
import { markAppending, type SqlSession } from './sql-session.ts';

/** Most heads of one answer. */
const MAX_HEADS = 1_000;
/** Most waiting heads of one answer. */
const MAX_WAITING = 100;
const HEAD_FIELDS = ['seq', 'hash', 'at', 'token'] as const;

/** Stores what happened with the present cause, in the transaction of the change itself. */
export async function addAuditEvents(
  trx: Kysely<SqlSchema>,
  events: readonly NewAuditEvent[],
): Promise<void> {
  if (events.length === 0) return;
  markAppending(trx);
  const { actor, onBehalfOf, sourceIp, requestId, reason } = presentCause();
  const at = instantText(new Date());
  await trx
    .insertInto('audit_events')
    .values(
      events.map(({ type, subject, owner, data, result = 'ok' }) => {
        const details: AuditDetails = {
          actor,
          on_behalf_of: onBehalfOf,
          owner,
          source_ip: sourceIp,
          request_id: requestId,
          reason,
          data,
        };
        const salt = randomBytes(16).toString('hex');
        return {
          id: `evt_${ulid()}`,
          type,
          at,
          subject,
          result,
          users: usersOf(details),
          details: canonicalize(details) ?? null,
          salt,
          details_hash: detailsHash(salt, details),
        };
      }),
    )
    .execute();
}

/** The owner of a run or a sandbox; null: it is gone. */
export async function ownerIn(
  db: Kysely<SqlSchema>,
  table: 'runs' | 'sandboxes',
  id: string,
): Promise<Owner | null> {
  const row = await db
    .selectFrom(table)
    .select(['owner_org', 'owner_user'])
    .where('id', '=', id)
    .executeTakeFirst();
  return row === undefined ? null : { org: row.owner_org, user: row.owner_user };
}

/** Each user that the details name, between two line feeds: no user has one in the name. */
function usersOf({ actor, on_behalf_of: behalf, owner }: AuditDetails): string | null {
  const person = actor.kind === 'person' ? actor.id : null;
  const users = new Set([person, behalf, owner?.user].filter((user) => typeof user === 'string'));
  return users.size === 0 ? null : `\n${[...users].join('\n')}\n`;
}

export function auditRecords({ dialect, repeatable, transact, watchAppends }: SqlSession): AuditRecords {
  const lastRow = (db: Kysely<SqlSchema>) =>
    db
      .selectFrom('audit_events')
      .select(['seq', 'hash', 'type'])
      .where('seq', 'is not', null)
      .orderBy('seq', 'desc')
      .limit(1);
  // Unlike `like`, which takes both cases of a letter for one in SQLite.
  const named = (user: string) =>
    sql<boolean>`replace(${sql.ref('users')}, ${`\n${user}\n`}, '') <> ${sql.ref('users')}`;
  return {
    add: (events) => transact((trx) => addAuditEvents(trx, events)),

    watch: watchAppends,

    chain: (most) =>
      transact(async (trx) => {
        await dialect.lockKey(trx, 'audit chain');
        const loose = await trx
          .selectFrom('audit_events')
          .selectAll()
          .where('seq', 'is', null)
          .orderBy('id')
          .limit(most)
          .execute();
        const last = loose.length === 0 ? undefined : await lastRow(trx).executeTakeFirst();
        let seq = last?.seq ?? 0;
        let prevHash = last?.hash ?? CHAIN_START;
        for (const row of loose) {
          seq += 1;
          const hash = rowHash({ ...placeless(row), seq, prevHash });
          await trx
            .updateTable('audit_events')
            .set({ seq, prev_hash: prevHash, hash })
            .where('id', '=', row.id)
            .execute();
          prevHash = hash;
        }
        return loose.length;
      }),

    oldestLoose: () =>
      repeatable(async (db) => {
        const row = await db
          .selectFrom('audit_events')
          .select('at')
          .where('seq', 'is', null)
          .orderBy('id')
          .limit(1)
          .executeTakeFirst();
        return row && new Date(row.at);
      }),

    read: ({ types, subject, user, from, to }: AuditFilter, { after, limit, order = 'asc' }) =>
      repeatable(async (db) => {
        checkLimit(limit);
        const rows = await db
          .selectFrom('audit_events')
          .selectAll()
          .where('seq', '>', order === 'asc' ? after : 0)
          .$if(order === 'desc' && after > 0, (query) => query.where('seq', '<', after))
          .$if(types !== undefined, (query) => query.where('type', 'in', types ?? []))
          .$if(subject !== undefined, (query) => query.where('subject', '=', subject ?? ''))
          .$if(user !== undefined, (query) => query.where(named(user ?? '')))
          .$if(from !== undefined, (query) => query.where('at', '>=', instantText(from as Date)))
          .$if(to !== undefined, (query) => query.where('at', '<', instantText(to as Date)))
          .orderBy('seq', order)
          .limit(limit + 1)
          .execute();
        return { rows: rows.slice(0, limit).map(toAuditRow), more: rows.length > limit };
      }),

    last: () =>
      repeatable((db) =>
        first(lastRow(db), ({ seq, hash, type }) => ({ seq: seq ?? 0, hash: hash ?? '', type })),
      ),

    addHead: (head, { isWaiting, events } = { isWaiting: false, events: [] }) =>
      transact(async (trx) => {
        const added = await trx
          .insertInto('audit_heads')
          .values({ ...columnsOf(head, HEAD_FIELDS), is_waiting: isWaiting ? 1 : 0 })
          .onConflict((conflict) => conflict.column('seq').doNothing())
          .executeTakeFirst();
        if (Number(added.numInsertedOrUpdatedRows) > 0) await addAuditEvents(trx, events);
      }),

    waitingHeads: () =>
      repeatable((db) =>
        all(
          db
            .selectFrom('audit_heads')
            .select(HEAD_FIELDS)
            .where('is_waiting', '=', 1)
            .orderBy('seq')
            .limit(MAX_WAITING),
          fieldsOf<Columns<AuditHead>>,
        ),
      ),

    anchored: (seq) =>
      repeatable((db) => done(db.updateTable('audit_heads').set({ is_waiting: 0 }).where('seq', '=', seq))),

    heads: (from) =>
      repeatable((db) =>
        all(
          db
            .selectFrom('audit_heads')
            .select(HEAD_FIELDS)
            .where('seq', '>=', from)
            .orderBy('seq')
            .limit(MAX_HEADS),
          fieldsOf<Columns<AuditHead>>,
        ),
      ),

    lastHead: () =>
      repeatable((db) =>
        first<Columns<AuditHead>, AuditHead>(
          db.selectFrom('audit_heads').select(HEAD_FIELDS).orderBy('seq', 'desc').limit(1),
          fieldsOf,
        ),
      ),

    redact: (user) =>
      transact(async (trx) => {
        const redacted = await trx
          .updateTable('audit_events')
          .set({ details: null, salt: null, users: null })
          .where(named(user))
          .executeTakeFirst();
        return Number(redacted.numUpdatedRows);
      }),

    forget: (before) =>
      transact(async (trx) => {
        await dialect.lockKey(trx, 'audit chain');
        const { head } = await trx
          .selectFrom('audit_heads')
          .select(({ fn }) => fn.max('seq').as('head'))
          .executeTakeFirstOrThrow();
        const { young } = await trx
          .selectFrom('audit_events')
          .select(({ fn }) => fn.min('seq').as('young'))
          .where('at', '>=', instantText(before))
          .executeTakeFirstOrThrow();
        const end = Math.min(head ?? 0, young ?? head ?? 0);
        await trx.deleteFrom('audit_heads').where('seq', '<', end).execute();
        return deleted(trx.deleteFrom('audit_events').where('seq', '<', end));
      }),
  };
}

type Placeless = Omit<AuditRow, 'seq' | 'prevHash' | 'hash'>;

function placeless({
  id,
  type,
  at,
  subject,
  result,
  details,
  salt,
  details_hash,
}: Row<'audit_events'>): Placeless {
  return {
    id,
    type,
    at: new Date(at),
    subject,
    result,
    details: details === null ? null : (JSON.parse(details) as AuditDetails),
    salt,
    detailsHash: details_hash,
  };
}

export function toAuditRow(row: Row<'audit_events'>): AuditRow {
  return { ...placeless(row), seq: row.seq ?? 0, prevHash: row.prev_hash ?? '', hash: row.hash ?? '' };
}
