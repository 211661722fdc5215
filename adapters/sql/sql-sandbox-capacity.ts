import { type Kysely, type RawBuilder, sql } from 'kysely';
import { NO_NETWORK } from '#core/network/network-policy.ts';
import type {
  QuotaLimits,
  Reservation,
  SandboxCapacity,
  SandboxOptions,
} from '#core/sandboxes/sandbox-capacity.ts';
import type { SandboxSize } from '#core/sandboxes/sandbox-provider.ts';
import { limitsSandboxes, isWithin, type Usage } from '#core/sandboxes/sandbox-quotas.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import { addAuditEvents } from './audit-records.ts';
import type { SandboxEnv } from './owner-seals.ts';
import type { Row, SqlSchema } from './schema.ts';
import { all, count, first, instantText, ownedBy } from './sql-dialect.ts';
import {
  insertSandbox,
  LIVE,
  millis,
  sandboxCreatedEvent,
  sandboxEvent,
  sandboxOf,
} from './sql-sandbox-records.ts';
import type { SqlSession } from './sql-session.ts';

export function sandboxCapacity(
  { dialect, repeatable, transact }: SqlSession,
  kept: SandboxEnv,
): SandboxCapacity {
  const toRecord = (row: Row<'sandboxes'>) => sandboxOf(row, kept);
  /** The sandbox or the quota that prevents another one, in this transaction. */
  const existing = async (
    trx: Kysely<SqlSchema>,
    owner: Owner,
    { sessionKey, name, resources, quotaLimits }: Omit<SandboxOptions, 'tags' | 'env' | 'network'>,
  ): Promise<Reservation | undefined> => {
    await lockOwner(trx, owner);
    const own = ownOf(trx, owner);
    for (const [kind, column, value] of [
      ['same_session', 'session_key', sessionKey],
      ['same_name', 'name', name],
    ] as const) {
      if (value === null) continue;
      const held = await own.selectAll().where(column, '=', value).executeTakeFirst();
      if (held !== undefined) return { kind, sandbox: toRecord(held) };
    }
    const used = await pastQuota(trx, owner, quotaLimits, ({ defaultSize }) => ({
      sandboxes: 1,
      ...defaultSize,
      ...resources,
    }));
    return used && { kind: 'over_quota', used };
  };
  const lockOwner = (trx: Kysely<SqlSchema>, owner: Owner) =>
    dialect.lockKey(trx, JSON.stringify(['sandboxes', owner.org, owner.user]));
  return {
    reserve: (sandbox, quotaLimits) =>
      transact(async (trx): Promise<Reservation> => {
        const refusal = await existing(trx, sandbox.owner, { ...sandbox, quotaLimits });
        if (refusal !== undefined) return refusal;
        const made = await insertSandbox(trx, sandbox, kept);
        return made === undefined ? { kind: 'id_taken' } : { kind: 'reserved', sandbox: toRecord(made) };
      }),

    usage: (owner, defaultSize) => repeatable((db) => usageOf(db, owner, defaultSize)),

    wake: ({ id, generation }, at, quotaLimits) =>
      transact(async (trx) => {
        const stopped = trx
          .selectFrom('sandboxes')
          .selectAll()
          .where('id', '=', id)
          .where('generation', '=', generation)
          .where('desired', '=', 'stopped');
        const found = await first(stopped, toRecord);
        if (found === undefined) return 'unchanged';
        const { owner, resources } = found;
        await lockOwner(trx, owner);
        const used = await pastQuota(trx, owner, quotaLimits, ({ defaultSize }) => ({
          sandboxes: 1,
          ...defaultSize,
          ...resources,
          // Counts while it is stopped as well.
          diskMb: 0,
        }));
        if (used !== undefined) return used;
        const woken = await trx
          .updateTable('sandboxes')
          .set({ desired: 'running', stopped_at: null, heartbeat_at: instantText(at) })
          .where('id', '=', id)
          .where('generation', '=', generation)
          .where('desired', '=', 'stopped')
          .returningAll()
          .executeTakeFirst();
        if (woken === undefined) return 'unchanged';
        await addAuditEvents(trx, [sandboxEvent('sandbox.resumed', woken)]);
        return 'woken';
      }),

    wantedBy: (owner, place) =>
      repeatable((db) => {
        const found = wantedIn(db, place).selectAll().where(ownedBy(owner));
        return all(found.orderBy('created_at').orderBy('id').limit(1_000), toRecord);
      }),

    countWanted: (place) => repeatable((db) => count(wantedIn(db, place))),

    takeWarm: (place, from, to, at, { id, sandboxOptions } = {}) => {
      const checks =
        sandboxOptions !== undefined &&
        (sandboxOptions.sessionKey !== null ||
          sandboxOptions.name !== null ||
          hasBounds(sandboxOptions.quotaLimits));
      const take = async (trx: Kysely<SqlSchema>) => {
        if (checks && (await existing(trx, to, sandboxOptions)) !== undefined) return undefined;
        const taken = await trx
          .updateTable('sandboxes')
          .set({
            owner_org: to.org,
            owner_user: to.user,
            observed: sandboxOptions?.runsAtOnce === true ? 'running' : 'creating',
            created_at: instantText(at),
            last_active_at: null,
            heartbeat_at: null,
            ttl_seconds: sandboxOptions?.ttlSeconds ?? null,
            timeout_at: sandboxOptions?.timeoutAt == null ? null : instantText(sandboxOptions.timeoutAt),
            on_timeout: sandboxOptions?.onTimeout ?? 'stop',
            delete_with_thread: sandboxOptions?.deleteWithThread === true ? 1 : 0,
            skills: JSON.stringify(sandboxOptions?.skills ?? []),
            ...(sandboxOptions && {
              session_key: sandboxOptions.sessionKey,
              name: sandboxOptions.name,
              tags: JSON.stringify(sandboxOptions.tags),
              network: sandboxOptions.network?.mode === 'open' ? 1 : 0,
              network_policy: JSON.stringify(sandboxOptions.network ?? NO_NETWORK),
              env: kept.text(sandboxOptions.env, to),
            }),
          })
          .where('id', '=', (builder) =>
            builder
              .selectFrom('sandboxes')
              .select('id')
              .where(LIVE)
              .where('place', '=', place)
              .where(ownedBy(from))
              .where('desired', '=', 'running')
              .where('observed', '=', 'running')
              .$if(id !== undefined, (query) => query.where('id', '=', id as string))
              .orderBy('created_at')
              .orderBy('id')
              .limit(1)
              .modifyEnd(dialect.skipLocked),
          )
          .returningAll()
          .executeTakeFirst();
        if (taken === undefined) return undefined;
        await addAuditEvents(trx, [sandboxCreatedEvent(taken)]);
        return toRecord(taken);
      };
      return transact(take);
    },
  };
}

/** The sandboxes of a place that should run. */
function wantedIn(db: Kysely<SqlSchema>, place: string) {
  return db
    .selectFrom('sandboxes')
    .where(LIVE)
    .where('place', '=', place)
    .where('desired', '=', 'running')
    .where('observed', '!=', 'destroyed');
}

/** The owner's sandboxes that count. */
function ownOf(db: Kysely<SqlSchema>, owner: Owner) {
  return db.selectFrom('sandboxes').where(LIVE).where(ownedBy(owner)).where('desired', '!=', 'destroyed');
}

function hasBounds(limits: QuotaLimits | undefined): limits is QuotaLimits {
  return limits !== undefined && limitsSandboxes(limits.quota);
}

/**
 * The owner's usage, if the addition would exceed the quota; undefined if there is no quota or it
 * is kept.
 */
async function pastQuota(
  trx: Kysely<SqlSchema>,
  owner: Owner,
  quotaLimits: QuotaLimits | undefined,
  more: (quotaLimits: QuotaLimits) => Usage,
): Promise<Usage | undefined> {
  if (!hasBounds(quotaLimits)) return undefined;
  const used = await usageOf(trx, owner, quotaLimits.defaultSize);
  return isWithin(quotaLimits.quota, used, more(quotaLimits)) ? undefined : used;
}

async function usageOf(db: Kysely<SqlSchema>, owner: Owner, size: SandboxSize): Promise<Usage> {
  const running = (amount: RawBuilder<number>) =>
    sql<string | number>`coalesce(sum(case when desired = 'running' then ${amount} else 0 end), 0)`;
  const { sandboxes, cpu, memory, disk } = await ownOf(db, owner)
    .select([
      running(sql`1`).as('sandboxes'),
      running(sql`coalesce(cpu_millis, ${millis(size.cpu)})`).as('cpu'),
      running(sql`coalesce(memory_mb, ${size.memoryMb})`).as('memory'),
      sql<string | number>`coalesce(sum(coalesce(disk_mb, ${size.diskMb})), 0)`.as('disk'),
    ])
    .executeTakeFirstOrThrow();
  // PostgreSQL returns sums as text.
  return {
    sandboxes: Number(sandboxes),
    cpu: Number(cpu) / 1_000,
    memoryMb: Number(memory),
    diskMb: Number(disk),
  };
}
