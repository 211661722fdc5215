import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { NewAuditEvent } from '#core/audit/audit-event.ts';
import type { AuditEventType } from '#protocol/audit-event-types.ts';
import type { EventData } from '#core/runs/timeline.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import type {
  DesiredState,
  NewSandboxRecord,
  SandboxKey,
  SandboxRecord,
  SandboxFilter,
  SandboxRecords,
  SandboxSort,
} from '#core/sandboxes/sandbox-records.ts';
import type { SandboxSkill } from '#core/skills/skill-store.ts';
import { type NetworkPolicy, NO_NETWORK } from '#core/network/network-policy.ts';
import { NO_SECRETS } from '#core/network/network-secrets.ts';
import { SERVICE_OWNERS } from '#core/sandboxes/sandbox-owner.ts';
import { DEFAULT_IMAGE } from '#base/reads.ts';
import { addAuditEvents } from './audit-records.ts';
import { notifyingTransaction } from './publishing-transaction.ts';
import { all, done, first, instantText, ownedBy, type SqlDialect } from './sql-dialect.ts';
import {
  anyLike,
  commonConditions,
  containing,
  countRows,
  keysetPage,
  type ListOrder,
  NEWEST,
  OLDEST,
} from './keyset-page.ts';
import { NO_ENV, type SandboxEnv } from './owner-seals.ts';
import { columnsOf, fieldsOf } from './row-fields.ts';
import { type NewRow, type Row, SANDBOX_FIELDS, type SqlSchema } from './schema.ts';
import type { SqlSession } from './sql-session.ts';

/** Prefixed, because delegations of a sandbox are watched under the bare id. */
const networkKey = (sandboxId: string) => `network:${sandboxId}`;

type SandboxStates = Partial<Pick<SandboxRecord, 'desired' | 'observed'>>;

export function sandboxRecords(session: SqlSession, kept: SandboxEnv): SandboxRecords {
  const { dialect, notifier, repeatable, transact } = session;
  const toRecord = (row: Row<'sandboxes'>) => sandboxOf(row, kept);
  const update = (db: Kysely<SqlSchema>, { id, generation }: SandboxKey) =>
    db.updateTable('sandboxes').where('id', '=', id).where('generation', '=', generation);
  const set = (id: string, states: SandboxStates, generation: number | undefined) =>
    transact(async (trx) => {
      const { desired, observed } = states;
      const found = trx.updateTable('sandboxes').where('id', '=', id);
      const of = found.$if(generation !== undefined, (query) =>
        query.where('generation', '=', generation as number),
      );
      if (observed !== undefined)
        await done(of.set({ observed, ...(observed === 'destroyed' && { env: NO_ENV, secrets: null }) }));
      if (desired === undefined) return;
      const changed = await of
        .set({ desired })
        .where('desired', '!=', desired)
        .returningAll()
        .executeTakeFirst();
      if (changed !== undefined) await addAuditEvents(trx, [sandboxEvent(STATE_EVENTS[desired], changed)]);
    });
  return {
    create: (sandbox) =>
      transact(async (trx) => {
        const row = await insertSandbox(trx, sandbox, kept);
        return row && toRecord(row);
      }),

    moveDesired: (sandbox, from, to, at, seen) =>
      transact(async (trx) => {
        const moved = await update(trx, sandbox)
          .set({
            desired: to,
            stopped_at: to === 'stopped' ? instantText(at) : null,
            ...(to === 'stopped' && { timeout_at: null }),
            ...(to === 'running' && { heartbeat_at: instantText(at) }),
          })
          .where('desired', '=', from)
          .$if(seen !== undefined, (query) => query.where(quietSince(seen as Observed)))
          .returningAll()
          .executeTakeFirst();
        if (moved === undefined) return false;
        if (from !== to) await addAuditEvents(trx, [sandboxEvent(STATE_EVENTS[to], moved)]);
        return true;
      }),

    setTimeout: (sandbox, at, onTimeout) =>
      repeatable((db) =>
        done(
          update(db, sandbox).set({
            timeout_at: at === null ? null : instantText(at),
            on_timeout: onTimeout,
          }),
        ),
      ),

    setSkills: (sandbox, skills) =>
      repeatable((db) => done(update(db, sandbox).set({ skills: JSON.stringify(skills) }))),

    setNetwork: (sandbox, network) =>
      repeatable((db) =>
        notifyingTransaction(session, db, async (trx, notify) => {
          const changed = await update(trx, sandbox)
            .set({ network: network.mode === 'open' ? 1 : 0, network_policy: JSON.stringify(network) })
            .returningAll()
            .executeTakeFirst();
          if (changed === undefined) return;
          await addAuditEvents(trx, [
            sandboxEvent('sandbox.network_changed', changed, { mode: network.mode }),
          ]);
          await notify(networkKey(sandbox.id));
        }),
      ),

    watchNetwork: (id, wake) => notifier.watch(networkKey(id), wake),

    setSecrets: (sandbox, secrets) =>
      transact(async (trx) => {
        const text = kept.secretsText(secrets, sandbox.owner);
        const changed = await update(trx, sandbox).set({ secrets: text }).returningAll().executeTakeFirst();
        if (changed !== undefined)
          await addAuditEvents(trx, [sandboxEvent('sandbox.secrets_changed', changed)]);
      }),

    touch: (sandbox, at) =>
      repeatable((db) =>
        done(
          update(db, sandbox)
            .set({ last_active_at: instantText(at) })
            .where(sql<boolean>`coalesce(last_active_at, created_at) < ${instantText(at)}`),
        ),
      ),

    heartbeat: (sandbox, at) =>
      repeatable((db) => {
        const seen = { heartbeat_at: later('heartbeat_at', at), last_active_at: later('last_active_at', at) };
        return first(update(db, sandbox).set(seen).where('desired', '=', 'running').returningAll(), toRecord);
      }),

    list: (owner, filter, page, sort = 'newest') =>
      repeatable((db) => {
        const found = db.selectFrom('sandboxes').where(matching(dialect, owner, filter));
        return keysetPage(found.selectAll(), page, toRecord, ORDERS[sort]);
      }),

    count: (owner, filter) =>
      repeatable((db) => {
        const found = db.selectFrom('sandboxes').where(matching(dialect, owner, filter));
        return countRows(db, found.select('id'));
      }),

    get: (id) =>
      repeatable((db) => first(db.selectFrom('sandboxes').selectAll().where('id', '=', id), toRecord)),

    // Not idempotent: a late `destroyed` could hit the sandbox that has reused the id.
    setDesired: (id, desired, generation) => set(id, { desired }, generation),

    setObserved: (id, observed, generation) => set(id, { observed }, generation),

    live: (page, place) =>
      repeatable((db) =>
        keysetPage(
          db
            .selectFrom('sandboxes')
            .selectAll()
            .where(LIVE)
            .$if(place !== undefined, (query) => query.where('place', '=', place as string)),
          page,
          toRecord,
        ),
      ),

    destroyedAmong: (ids) =>
      repeatable(async (db) => {
        const among = db.selectFrom('sandboxes').select('id').where(dialect.among('id', ids));
        return new Set(await all(among.where('observed', '=', 'destroyed'), ({ id }) => id));
      }),
  };
}

/**
 * Literals in exactly this shape: only then do both databases use the indexes of live sandboxes.
 */
export const LIVE = sql<boolean>`not (desired = 'destroyed' and observed = 'destroyed')`;

const ORDERS: Readonly<Record<SandboxSort, ListOrder>> = {
  newest: NEWEST,
  oldest: OLDEST,
  active: { name: 'active', by: sql`coalesce(last_active_at, created_at)`, direction: 'desc' },
  name: { name: 'name', by: sql`lower(coalesce(name, ''))`, direction: 'asc' },
};

function matching(dialect: SqlDialect, owner: Owner | undefined, filter: SandboxFilter): RawBuilder<boolean> {
  const { text, state, name, sessionKey, image, tags = {} } = filter;
  const conditions = [
    LIVE,
    owner === undefined ? notOfService() : ownedBy(owner),
    ...commonConditions(filter),
  ];
  if (state !== undefined) conditions.push(sql`observed = ${state}`);
  if (name !== undefined) conditions.push(sql`name = ${name}`);
  if (sessionKey !== undefined) conditions.push(sql`session_key = ${sessionKey}`);
  if (image !== undefined) conditions.push(imageIs(image));
  for (const [key, value] of Object.entries(tags))
    conditions.push(sql`${dialect.textUnder('tags', key)} = ${value}`);
  if (text !== undefined) {
    const pattern = containing(text);
    const named = anyLike(['name', 'id', 'session_key', 'image', 'owner_user'], pattern);
    conditions.push(sql`(${named} or ${dialect.hasPairLike('tags', pattern)})`);
  }
  return sql`${sql.join(conditions, sql` and `)}`;
}

/** Whether a sandbox has the image that a filter names. */
export function imageIs(image: string): RawBuilder<boolean> {
  return image === DEFAULT_IMAGE ? sql`image is null` : sql`image = ${image}`;
}

type Observed = Pick<SandboxRecord, 'lastActiveAt' | 'heartbeatAt'>;

function quietSince({ lastActiveAt, heartbeatAt }: Observed) {
  const active = sql`coalesce(last_active_at, created_at) <= ${instantText(lastActiveAt)}`;
  const beaten = sql`coalesce(heartbeat_at, created_at) <= ${instantText(heartbeatAt)}`;
  return sql<boolean>`${active} and ${beaten}`;
}

/** The later of the column's value and `at`. */
function later(column: 'heartbeat_at' | 'last_active_at', at: Date) {
  const known = sql`coalesce(${sql.ref(column)}, created_at)`;
  return sql<string>`case when ${known} < ${instantText(at)} then ${instantText(at)} else ${known} end`;
}

/** The negation of `isOfService`. */
function notOfService() {
  const each = SERVICE_OWNERS.map((owner) => sql`not (${ownedBy(owner)})`);
  return sql<boolean>`${sql.join(each, sql` and `)}`;
}

export function millis(cpu: number): number {
  return Math.round(cpu * 1_000);
}

const STATE_EVENTS = {
  running: 'sandbox.resumed',
  stopped: 'sandbox.stopped',
  destroyed: 'sandbox.destroyed',
} as const satisfies Record<DesiredState, AuditEventType>;

export function sandboxEvent(
  type: AuditEventType,
  { id, owner_org: org, owner_user: user }: Pick<Row<'sandboxes'>, 'id' | 'owner_org' | 'owner_user'>,
  data: EventData = {},
): NewAuditEvent {
  return { type, subject: `sandbox/${id}`, owner: { org, user }, data };
}

export function sandboxCreatedEvent(row: Row<'sandboxes'>): NewAuditEvent {
  const { image, name, generation } = row;
  return sandboxEvent('sandbox.created', row, { image, name, generation });
}

/** In a transaction. Undefined if a sandbox with its id exists that is not observed destroyed. */
export async function insertSandbox(
  db: Kysely<SqlSchema>,
  sandbox: NewSandboxRecord,
  kept: SandboxEnv,
): Promise<Row<'sandboxes'> | undefined> {
  const { id, ...rest } = toRow(sandbox, kept);
  const row = await db
    .insertInto('sandboxes')
    .values({ id, ...rest })
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet((row) => ({ ...rest, generation: row('sandboxes.generation', '+', 1) }))
        .where('sandboxes.observed', '=', 'destroyed'),
    )
    .returningAll()
    .executeTakeFirst();
  if (row !== undefined) await addAuditEvents(db, [sandboxCreatedEvent(row)]);
  return row;
}

function toRow(sandbox: NewSandboxRecord, kept: SandboxEnv): NewRow<'sandboxes'> {
  const { tags, resources, network, env, secrets, skills, deleteWithThread } = sandbox;
  return {
    ...columnsOf(sandbox, SANDBOX_FIELDS),
    ttl_seconds: sandbox.ttlSeconds ?? null,
    timeout_at: sandbox.timeoutAt == null ? null : instantText(sandbox.timeoutAt),
    on_timeout: sandbox.onTimeout ?? 'stop',
    tags: JSON.stringify(tags),
    last_active_at: null,
    stopped_at: null,
    heartbeat_at: null,
    delete_with_thread: deleteWithThread === true ? 1 : 0,
    cpu_millis: resources.cpu === undefined ? null : millis(resources.cpu),
    memory_mb: resources.memoryMb ?? null,
    disk_mb: resources.diskMb ?? null,
    network: network.mode === 'open' ? 1 : 0,
    network_policy: JSON.stringify(network),
    env: kept.text(env, sandbox.owner),
    secrets: kept.secretsText(secrets ?? NO_SECRETS, sandbox.owner),
    skills: JSON.stringify(skills ?? []),
  };
}

function networkOf({ network, network_policy: text }: Row<'sandboxes'>): NetworkPolicy {
  if (text !== null) return JSON.parse(text) as NetworkPolicy;
  return { ...NO_NETWORK, mode: network === 1 ? 'open' : 'off' };
}

export function sandboxOf(row: Row<'sandboxes'>, kept: SandboxEnv): SandboxRecord {
  const { cpuMillis, memoryMb, diskMb, networkPolicy: _, ...sandbox } = fieldsOf(row);
  return {
    ...sandbox,
    tags: JSON.parse(row.tags) as Record<string, string>,
    lastActiveAt: sandbox.lastActiveAt ?? sandbox.createdAt,
    deleteWithThread: row.delete_with_thread === 1,
    heartbeatAt: sandbox.heartbeatAt ?? sandbox.createdAt,
    resources: {
      ...(cpuMillis !== null && { cpu: cpuMillis / 1_000 }),
      ...(memoryMb !== null && { memoryMb }),
      ...(diskMb !== null && { diskMb }),
    },
    network: networkOf(row),
    env: kept.read(row.env, sandbox.owner),
    secrets: kept.readSecrets(row.secrets, sandbox.owner),
    skills: JSON.parse(row.skills) as SandboxSkill[],
  };
}
