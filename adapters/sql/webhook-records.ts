import { type Kysely, sql, type Transaction } from 'kysely';
import { ulid } from '#adapters/system/clock-and-random-ids.ts';
import type { NewAuditEvent } from '#core/audit/audit-event.ts';
import { type AttemptDecision, MAX_PAUSES_MS } from '#core/webhooks/attempt-decision.ts';
import type { SigningKey } from '#core/webhooks/sign-webhook.ts';
import {
  type EventFilter,
  wants,
  type WebhookInterest,
  webhookSubject,
} from '#core/webhooks/webhook-filter.ts';
import type { Attempt, Delivery, Webhook, WebhookRecords } from '#core/webhooks/webhook-store.ts';
import { addAuditEvents, toAuditRow } from './audit-records.ts';
import { keysetPage } from './keyset-page.ts';
import type { OwnerSeals } from './owner-seals.ts';
import { columnsOf, fieldsOf } from './row-fields.ts';
import type { Row, SqlSchema } from './schema.ts';
import { all, count, deleted, first, instantText, ownedBy, some, type SqlDialect } from './sql-dialect.ts';
import type { SqlSession } from './sql-session.ts';

const MAX_LISTED = 1_000;
/** Rows of the chain that one step reads for webhooks at the same position. */
const AT_ONCE = 500;
/** Waiting deliveries with which a webhook reads no further. */
const MAX_WAITING = 1_000;
const FIELDS = [
  'id',
  'owner',
  'scope',
  'signature',
  'createdAt',
  'disabledAt',
  'disabledReason',
  'failures',
  'failingAt',
  'deliveredAt',
] as const;
/** Not a parameter: SQLite uses a partial index only if it sees the value. */
const WAITING = sql.lit('waiting' as const);
const CONTENT = 'webhooks.content';
/** Fails as a URL, so that the webhook is disabled in the end. */
const UNREADABLE: Content = { url: '(unreadable)', keys: [] };

/** The part of a webhook that is sealed. */
interface Content {
  readonly url: string;
  readonly keys: readonly SigningKey[];
}

type Db = Kysely<SqlSchema>;
type Trx = Transaction<SqlSchema>;

export function webhookRecords(session: SqlSession, { seal, open }: OwnerSeals): WebhookRecords {
  const { dialect, repeatable, transact } = session;

  const toWebhook = (row: Row<'webhooks'>): Webhook => {
    const { events, content, position: _, waiting: __, retryAt: ___, ...hook } = fieldsOf(row);
    const json = open(CONTENT, hook.owner, content, 'the URL and the keys of a webhook');
    const { url, keys } = json === undefined ? UNREADABLE : (JSON.parse(json) as Content);
    return { ...hook, events: JSON.parse(events) as EventFilter[], url, keys };
  };
  const sealed = ({ owner, url, keys }: Pick<Webhook, 'owner' | 'url' | 'keys'>) =>
    seal(CONTENT, owner, JSON.stringify({ url, keys } satisfies Content));

  /** Locks the webhook: all changes of its deliveries wait for each other. */
  const hold = async (trx: Trx, id: string): Promise<Row<'webhooks'> | undefined> =>
    trx
      .selectFrom('webhooks')
      .selectAll()
      .where('id', '=', id)
      .modifyEnd(dialect.forUpdate)
      .executeTakeFirst();

  const change = (
    id: string,
    type: NewAuditEvent['type'],
    work: (trx: Trx, row: Row<'webhooks'>) => Promise<boolean>,
  ) =>
    transact(async (trx) => {
      const row = await hold(trx, id);
      if (row === undefined || !(await work(trx, row))) return false;
      await addAuditEvents(trx, [webhookEvent(type, toWebhook(row))]);
      return true;
    });

  return {
    create: (hook, most) =>
      transact(async (trx) => {
        await dialect.lockKey(trx, JSON.stringify(['webhooks', hook.owner.org, hook.owner.user]));
        if ((await count(trx.selectFrom('webhooks').where(ownedBy(hook.owner)))) >= most) return false;
        await trx
          .insertInto('webhooks')
          .values({
            ...columnsOf(hook, FIELDS),
            events: JSON.stringify(hook.events),
            content: sealed(hook),
            position: await lastSeq(trx),
            waiting: 0,
            retry_at: null,
          })
          .execute();
        await addAuditEvents(trx, [webhookEvent('webhook.created', hook)]);
        return true;
      }),

    get: (id) =>
      repeatable((db) => first(db.selectFrom('webhooks').selectAll().where('id', '=', id), toWebhook)),

    list: (owner) =>
      repeatable((db) =>
        all(
          db
            .selectFrom('webhooks')
            .selectAll()
            .$if(owner !== undefined, (query) => query.where(ownedBy(owner as Webhook['owner'])))
            .orderBy('created_at', 'desc')
            .orderBy('id', 'desc')
            .limit(MAX_LISTED),
          toWebhook,
        ),
      ),

    remove: (id) =>
      change(id, 'webhook.deleted', async (trx) => {
        await trx.deleteFrom('webhook_deliveries').where('hook_id', '=', id).execute();
        await trx.deleteFrom('webhooks').where('id', '=', id).execute();
        return true;
      }),

    enable: async (id) => {
      await change(id, 'webhook.enabled', async (trx, { disabled_at: disabledAt }) => {
        if (disabledAt === null) return false;
        const active = { disabled_at: null, disabled_reason: null };
        const unfailed = { failures: 0, failing_at: null, retry_at: null };
        await trx
          .updateTable('webhooks')
          .set({ ...active, ...unfailed, position: await lastSeq(trx) })
          .where('id', '=', id)
          .execute();
        return true;
      });
    },

    setKeys: async (id, keys) => {
      await change(id, 'webhook.secret_rotated', async (trx, row) => {
        const content = sealed({ ...toWebhook(row), keys });
        await trx.updateTable('webhooks').set({ content }).where('id', '=', id).execute();
        return true;
      });
    },

    hasActive: () =>
      repeatable((db) => some(db.selectFrom('webhooks').select('id').where('disabled_at', 'is', null))),

    fanOut: async (now) => {
      const last = await repeatable(lastSeq);
      const isBehind = (db: Db) =>
        some(
          db
            .selectFrom('webhooks')
            .select('id')
            .where('disabled_at', 'is', null)
            .where('position', '<', last)
            .where('waiting', '<', MAX_WAITING),
        );
      if (!(await repeatable(isBehind))) return false;
      return transact((trx) => fanOut(trx, dialect, last, now));
    },

    hasten: (now) =>
      repeatable(async (db) => {
        const after = (ms: number) => instantText(new Date(now.getTime() + ms));
        await db
          .updateTable('webhook_deliveries')
          .set({ next_at: after(0) })
          // By hook, as the index of what is due.
          .where('hook_id', 'in', db.selectFrom('webhooks').select('id'))
          .where('next_at', '>', after(0))
          .where((where) =>
            where.or(
              MAX_PAUSES_MS.delivery.map((ms, attempts) =>
                where.and([
                  where('attempts', attempts < MAX_PAUSES_MS.delivery.length - 1 ? '=' : '>=', attempts),
                  where('next_at', '>', after(ms)),
                ]),
              ),
            ),
          )
          .execute();
        await db
          .updateTable('webhooks')
          .set({ retry_at: null })
          .where('retry_at', '>', after(MAX_PAUSES_MS.hook))
          .execute();
      }),

    due: () =>
      repeatable(async (db) => {
        const rows = await db
          .selectFrom('webhooks')
          .select(['id', 'owner_org', 'owner_user', 'retry_at'])
          .select((row) =>
            row
              .selectFrom('webhook_deliveries')
              .select(({ fn }) => fn.min('next_at').as('next_at'))
              .whereRef('hook_id', '=', 'webhooks.id')
              .where('next_at', 'is not', null)
              .as('next_at'),
          )
          .where('disabled_at', 'is', null)
          .execute();
        return rows
          .flatMap(({ id, owner_org: org, owner_user: user, retry_at: retryAt, next_at: nextAt }) => {
            if (nextAt === null) return [];
            const dueAt = new Date(retryAt !== null && retryAt > nextAt ? retryAt : nextAt);
            return [{ id, owner: { org, user }, dueAt }];
          })
          .toSorted((one, other) => one.dueAt.getTime() - other.dueAt.getTime());
      }),

    claim: (hookId, { most, now, leaseUntil }) =>
      transact(async (trx) => {
        const at = instantText(now);
        const row = await hold(trx, hookId);
        if (row === undefined || row.disabled_at !== null || (row.retry_at ?? '') > at) return [];
        const isProbed = row.failures > 0 || row.delivered_at === null;
        const rows = await trx
          .selectFrom('webhook_deliveries')
          .selectAll()
          .where('hook_id', '=', hookId)
          .where('next_at', '<=', at)
          .orderBy('seq')
          .limit(isProbed ? 1 : most)
          .execute();
        if (rows.length === 0) return [];
        const lease = instantText(leaseUntil);
        const ids = rows.map(({ id }) => id);
        await trx
          .updateTable('webhook_deliveries')
          .set((each) => ({
            attempts: each('attempts', '+', 1),
            next_at: lease,
            is_sending: 1,
            first_at: each.fn.coalesce('first_at', each.val(at)),
          }))
          .where(dialect.among('id', ids))
          .execute();
        if (isProbed)
          await trx.updateTable('webhooks').set({ retry_at: lease }).where('id', '=', hookId).execute();
        const events = await trx
          .selectFrom('audit_events')
          .selectAll()
          .where(
            dialect.among(
              'id',
              rows.map((each) => each.event_id),
            ),
          )
          .execute();
        const byId = new Map(events.map((event) => [event.id, toAuditRow(event)]));
        const hook = toWebhook(row);
        return rows.map((each): Attempt => {
          const begun = { ...each, attempts: each.attempts + 1, first_at: each.first_at ?? at };
          return { hook, delivery: toDelivery(begun), event: byId.get(each.event_id) ?? null };
        });
      }),

    complete: ({ hook, delivery }, decision, now) =>
      transact(async (trx) => {
        const row = await hold(trx, hook.id);
        if (row === undefined) return;
        const completed = await trx
          .updateTable('webhook_deliveries')
          .set(deliveryAfter(decision, now))
          .where('id', '=', delivery.id)
          .where('attempts', '=', delivery.attempts)
          .where('is_sending', '=', 1)
          .returning('id')
          .executeTakeFirst();
        if (completed === undefined) return;
        await trx
          .updateTable('webhooks')
          .set(webhookAfter(decision, hook, row, now))
          .where('id', '=', hook.id)
          .execute();
        if (decision.kind === 'delivered' || decision.kind === 'give_up') {
          await releaseNext(trx, delivery, now);
          await addWaiting(trx, hook.id, -1);
        }
        if (decision.kind !== 'disable' || row.disabled_at !== null) return;
        await trx
          .updateTable('webhook_deliveries')
          .set({ state: 'cancelled', next_at: null, is_sending: 0, ended_at: instantText(now) })
          .where('hook_id', '=', hook.id)
          .where('state', '=', WAITING)
          .execute();
        await addAuditEvents(trx, [webhookEvent('webhook.disabled', hook, { why: decision.reason })]);
      }),

    deliveries: (hookId, page) =>
      repeatable((db) =>
        keysetPage(
          db.selectFrom('webhook_deliveries').selectAll().where('hook_id', '=', hookId),
          page,
          toDelivery,
        ),
      ),

    redeliver: (hookId, id, now) =>
      transact(async (trx) => {
        if ((await hold(trx, hookId)) === undefined) return undefined;
        const row = await trx
          .selectFrom('webhook_deliveries')
          .selectAll()
          .where('hook_id', '=', hookId)
          .where('id', '=', id)
          .executeTakeFirst();
        if (row === undefined) return undefined;
        // Later events of the subject do not wait for one that had ended.
        const anew = { state: 'waiting', is_ordered: 0, first_at: null, ended_at: null } as const;
        const isWaiting = row.state === 'waiting';
        const isLeft = isWaiting && (row.next_at === null || row.is_sending === 1);
        if (isLeft) return toDelivery(row);
        await trx.updateTable('webhooks').set({ retry_at: null }).where('id', '=', hookId).execute();
        if (!isWaiting) await addWaiting(trx, hookId, 1);
        const changed = await trx
          .updateTable('webhook_deliveries')
          .set({ ...(!isWaiting && anew), next_at: instantText(now) })
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirstOrThrow();
        return toDelivery(changed);
      }),

    forget: (before) =>
      repeatable((db) =>
        deleted(db.deleteFrom('webhook_deliveries').where('ended_at', '<', instantText(before))),
      ),
  };
}

async function lastSeq(db: Db): Promise<number> {
  const { last } = await db
    .selectFrom('audit_events')
    .select(({ fn }) => fn.max('seq').as('last'))
    .executeTakeFirstOrThrow();
  return last ?? 0;
}

/** One step of the webhooks that are foremost, and one of some others that are behind. */
async function fanOut(trx: Trx, dialect: SqlDialect, last: number, now: Date): Promise<boolean> {
  await dialect.lockKey(trx, 'webhooks');
  const rows = await trx
    .selectFrom('webhooks')
    .select(['id', 'owner_org', 'owner_user', 'scope', 'events', 'position'])
    .where('disabled_at', 'is', null)
    .where('position', '<', last)
    .where('waiting', '<', MAX_WAITING)
    .orderBy('id')
    .modifyEnd(dialect.forUpdate)
    .execute();
  const groups = [...Map.groupBy(rows, ({ position }) => position)].toSorted(([one], [other]) => other - one);
  const [foremost, ...behind] = groups;
  const other = behind[Math.floor(Math.random() * behind.length)];
  for (const [position, hooks] of [foremost, other].filter((group) => group !== undefined)) {
    await step(trx, dialect, position, hooks.map(toInterest), now);
  }
  return groups.length > 0;
}

function toInterest(
  row: Pick<Row<'webhooks'>, 'id' | 'owner_org' | 'owner_user' | 'scope' | 'events'>,
): WebhookInterest {
  const { events, ...interest } = fieldsOf(row);
  return { ...interest, events: JSON.parse(events) as EventFilter[] };
}

/** Makes deliveries of the next rows for webhooks at the same position. */
async function step(
  trx: Trx,
  dialect: SqlDialect,
  position: number,
  hooks: readonly WebhookInterest[],
  now: Date,
): Promise<void> {
  const read = await trx
    .selectFrom('audit_events')
    .selectAll()
    .where('seq', '>', position)
    .orderBy('seq')
    .limit(AT_ONCE)
    .execute();
  const events = read.map(toAuditRow);
  const end = events.at(-1)?.seq;
  if (end === undefined) return;
  const ids = hooks.map(({ id }) => id);
  const waiting = await waitingSubjects(trx, dialect, ids, [
    ...new Set(events.map(({ subject }) => subject)),
  ]);
  const deliveries = events.flatMap((event) =>
    hooks
      .filter((hook) => wants(hook, event))
      .map(({ id: hookId }): Row<'webhook_deliveries'> => {
        const isOrdered = event.type !== 'webhook.test';
        const key = `${hookId} ${event.subject}`;
        const isBehind = isOrdered && waiting.has(key);
        if (isOrdered) waiting.add(key);
        return {
          id: `whd_${ulid()}`,
          hook_id: hookId,
          event_id: event.id,
          event_type: event.type,
          subject: event.subject,
          seq: event.seq,
          is_ordered: Number(isOrdered),
          is_sending: 0,
          state: 'waiting',
          attempts: 0,
          next_at: isBehind ? null : instantText(now),
          first_at: null,
          created_at: instantText(now),
          ended_at: null,
          status: null,
          error: null,
        };
      }),
  );
  for (let from = 0; from < deliveries.length; from += AT_ONCE) {
    await trx
      .insertInto('webhook_deliveries')
      .values(deliveries.slice(from, from + AT_ONCE))
      .execute();
  }
  for (const [id, { length }] of Map.groupBy(deliveries, (each) => each.hook_id)) {
    await addWaiting(trx, id, length);
  }
  const tested = deliveries.filter((each) => each.is_ordered === 0).map((each) => each.hook_id);
  if (tested.length > 0)
    await trx.updateTable('webhooks').set({ retry_at: null }).where(dialect.among('id', tested)).execute();
  await trx.updateTable('webhooks').set({ position: end }).where(dialect.among('id', ids)).execute();
}

/** What has a waiting delivery already, as `WEBHOOK SUBJECT`: later ones wait for it. */
async function waitingSubjects(
  trx: Trx,
  dialect: SqlDialect,
  hookIds: readonly string[],
  subjects: readonly string[],
): Promise<Set<string>> {
  const rows = await trx
    .selectFrom('webhook_deliveries')
    .select(['hook_id', 'subject'])
    .where('state', '=', WAITING)
    .where('is_ordered', '=', 1)
    .where(dialect.among('hook_id', hookIds))
    .where(dialect.among('subject', subjects))
    .execute();
  return new Set(rows.map(({ hook_id: id, subject }) => `${id} ${subject}`));
}

function deliveryAfter(decision: AttemptDecision, now: Date) {
  const { kind, status, error } = decision;
  const shown = { status, error, is_sending: 0 };
  if (kind === 'again') return { ...shown, next_at: instantText(now) };
  if (kind === 'retry') return { ...shown, next_at: instantText(decision.retryAt) };
  const state = kind === 'delivered' ? 'delivered' : 'failed';
  return { ...shown, state, next_at: null, ended_at: instantText(now) } as const;
}

function webhookAfter(decision: AttemptDecision, claimed: Webhook, row: Row<'webhooks'>, now: Date) {
  const at = instantText(now);
  if (decision.kind === 'delivered')
    return { failures: 0, failing_at: null, retry_at: null, delivered_at: at };
  if (decision.kind === 'again' || (decision.kind === 'give_up' && decision.hookRetryAt === null))
    return { retry_at: null };
  const failing = { failures: claimed.failures + 1, failing_at: row.failing_at ?? at };
  if (decision.kind === 'disable')
    return { ...failing, waiting: 0, disabled_at: at, disabled_reason: decision.reason };
  return { ...failing, retry_at: decision.hookRetryAt && instantText(decision.hookRetryAt) };
}

async function addWaiting(trx: Trx, id: string, added: number): Promise<void> {
  await trx
    .updateTable('webhooks')
    .set(({ eb }) => ({ waiting: eb('waiting', '+', added) }))
    .where('id', '=', id)
    .execute();
}

/** The next event of a subject is due once the one before has ended. */
async function releaseNext(trx: Trx, { hookId, subject }: Delivery, now: Date): Promise<void> {
  const next = trx
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('hook_id', '=', hookId)
    .where('subject', '=', subject)
    .where('state', '=', WAITING)
    .where('is_ordered', '=', 1)
    .orderBy('seq')
    .limit(1);
  await trx
    .updateTable('webhook_deliveries')
    .set({ next_at: instantText(now) })
    .where('id', '=', next)
    .where('next_at', 'is', null)
    .execute();
}

function toDelivery(row: Row<'webhook_deliveries'>): Delivery {
  const { seq: _, isOrdered: __, isSending: ___, ...delivery } = fieldsOf(row);
  return delivery;
}

/** Without the path of the URL, which may be a secret. */
function webhookEvent(
  type: NewAuditEvent['type'],
  { id, owner, url, scope, events }: Webhook,
  more: NewAuditEvent['data'] = {},
): NewAuditEvent {
  const origin = URL.parse(url)?.origin ?? null;
  const data = { webhook_id: id, origin, scope, events: events.join(' '), ...more };
  return { type, subject: webhookSubject(id), owner, data };
}
