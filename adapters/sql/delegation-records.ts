import type { Kysely } from 'kysely';
import type { AuditEventType } from '#protocol/audit-event-types.ts';
import type { EventData } from '#core/runs/timeline.ts';
import type { DelegationRecord, DelegationRecords, Scope } from '#core/delegations/delegation-store.ts';
import type { SandboxKey } from '#core/sandboxes/sandbox-records.ts';
import { addAuditEvents, ownerIn } from './audit-records.ts';
import { notifyingTransaction } from './publishing-transaction.ts';
import { all, count, deleted, first, instantText } from './sql-dialect.ts';
import { columnsOf, fieldsOf } from './row-fields.ts';
import type { Row, SqlSchema } from './schema.ts';
import type { SqlSession } from './sql-session.ts';

export function delegationRecords(session: SqlSession): DelegationRecords {
  const { dialect, notifier, once, repeatable, transact } = session;
  /** Changes the delegations of a sandbox, and wakes its watchers. */
  const change = <T>(sandboxId: string, work: (trx: Kysely<SqlSchema>) => Promise<T>): Promise<T> =>
    once((db) =>
      notifyingTransaction(session, db, async (trx, notify) => {
        const result = await work(trx);
        await notify(sandboxId);
        return result;
      }),
    );
  const of = (db: Kysely<SqlSchema>, sandbox: SandboxKey, now: Date) =>
    db
      .selectFrom('delegations')
      .where('sandbox_id', '=', sandbox.id)
      .where('generation', '=', sandbox.generation)
      .where('expires_at', '>', instantText(now));
  const addEvent = async (trx: Kysely<SqlSchema>, type: AuditEventType, sandboxId: string, data: EventData) =>
    addAuditEvents(trx, [
      { type, subject: `sandbox/${sandboxId}`, owner: await ownerIn(trx, 'sandboxes', sandboxId), data },
    ]);
  return {
    create: (delegation, most) =>
      transact(async (trx) => {
        const { sandbox, createdAt } = delegation;
        await dialect.lockKey(trx, JSON.stringify(['delegations', sandbox.id]));
        if ((await count(of(trx, sandbox, createdAt))) >= most) return false;
        await trx.insertInto('delegations').values(toRow(delegation)).execute();
        await addEvent(trx, 'delegation.created', sandbox.id, {
          delegation_id: delegation.id,
          scopes: delegation.grant.scopes.join(' '),
          expires_at: instantText(delegation.expiresAt),
        });
        return true;
      }),

    get: (id) =>
      repeatable((db) => first(db.selectFrom('delegations').selectAll().where('id', '=', id), toRecord)),

    list: (sandbox, now) =>
      repeatable((db) => all(of(db, sandbox, now).selectAll().orderBy('created_at').orderBy('id'), toRecord)),

    renew: (id, sandbox, at) =>
      transact(async (trx) => {
        const row = await of(trx, sandbox, at)
          .selectAll()
          .where('id', '=', id)
          .where('renewable', '=', 1)
          .modifyEnd(dialect.forUpdate)
          .executeTakeFirst();
        if (row === undefined) return undefined;
        const until = instantText(new Date(at.getTime() + row.ttl_ms));
        const expires_at = until > row.expires_at ? until : row.expires_at;
        await trx.updateTable('delegations').set({ expires_at }).where('id', '=', id).execute();
        return toRecord({ ...row, expires_at });
      }),

    revoke: (id, sandbox) =>
      change(sandbox.id, async (trx) => {
        const revoked = trx
          .deleteFrom('delegations')
          .where('id', '=', id)
          .where('sandbox_id', '=', sandbox.id)
          .where('generation', '=', sandbox.generation);
        if ((await deleted(revoked)) === 0) return false;
        await addEvent(trx, 'delegation.revoked', sandbox.id, { delegation_id: id });
        return true;
      }),

    forget: (before) =>
      repeatable((db) => deleted(db.deleteFrom('delegations').where('expires_at', '<', instantText(before)))),

    tokenVersion: ({ id, generation }) =>
      repeatable(async (db) => {
        const row = await db
          .selectFrom('sandbox_tokens')
          .select('version')
          .where('sandbox_id', '=', id)
          .where('generation', '=', generation)
          .executeTakeFirst();
        return row?.version ?? 0;
      }),

    rotateToken: ({ id, generation }) =>
      change(id, async (trx) => {
        const { version } = await trx
          .insertInto('sandbox_tokens')
          .values({ sandbox_id: id, generation, version: 1 })
          .onConflict((conflict) =>
            conflict
              .columns(['sandbox_id', 'generation'])
              .doUpdateSet((row) => ({ version: row('sandbox_tokens.version', '+', 1) })),
          )
          .returning('version')
          .executeTakeFirstOrThrow();
        return version;
      }),

    watch: (sandboxId, wake) => notifier.watch(sandboxId, wake),
  };
}

function toRow(delegation: DelegationRecord): Row<'delegations'> {
  const { sandbox, grant, ttl } = delegation;
  return {
    ...columnsOf(delegation, ['id', 'label', 'renewable', 'createdAt', 'expiresAt']),
    sandbox_id: sandbox.id,
    generation: sandbox.generation,
    scopes: JSON.stringify(grant.scopes),
    commands: grant.commands && JSON.stringify(grant.commands),
    paths: grant.paths && JSON.stringify(grant.paths),
    ttl_ms: ttl,
  };
}

function toRecord(row: Row<'delegations'>): DelegationRecord {
  const { sandboxId, generation, scopes, commands, paths, ttlMs: ttl, ...delegation } = fieldsOf(row);
  return {
    ...delegation,
    sandbox: { id: sandboxId, generation },
    grant: {
      scopes: JSON.parse(scopes) as Scope[],
      commands: commands === null ? null : (JSON.parse(commands) as string[]),
      paths: paths === null ? null : (JSON.parse(paths) as string[]),
    },
    renewable: row.renewable === 1,
    ttl,
  };
}
