import type { Kysely, Transaction } from 'kysely';
import type { ApprovalRecord, PolicyRecord, PolicyRecords } from '#core/approvals/approval-store.ts';
import type { NewAuditEvent } from '#core/audit/audit-event.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import { coveringPolicy, type Subject, subjectOf, takesBack } from '#core/approvals/approval-rules.ts';
import { addAuditEvents } from './audit-records.ts';
import { toPolicy } from './approval-rows.ts';
import { keysetPage } from './keyset-page.ts';
import type { Row, SqlSchema } from './schema.ts';
import { first, ownedBy } from './sql-dialect.ts';
import type { SqlSession } from './sql-session.ts';

export function policyRecords({ repeatable, transact }: SqlSession): PolicyRecords {
  return {
    covering: (owner, runId, tool, args) =>
      repeatable(async (db) => {
        const { policies, denials } = await allowedAndDenied(db, owner, runId, tool);
        return coveringPolicy(args, policies, denials);
      }),

    get: (id) =>
      repeatable((db) =>
        first(db.selectFrom('approval_policies').selectAll().where('id', '=', id), toPolicy),
      ),

    list: (owner, page) =>
      repeatable((db) => {
        const policies = db.selectFrom('approval_policies').selectAll();
        return keysetPage(owner ? policies.where(ownedBy(owner)) : policies, page, toPolicy);
      }),

    // Not idempotent: a repeat would report that it does not exist.
    delete: (id) =>
      transact(async (trx) => {
        const policies = trx.deleteFrom('approval_policies').where('id', '=', id);
        const policy = await first(policies.returningAll(), toPolicy);
        if (policy === undefined) return false;
        await addAuditEvents(trx, [policyEvent('policy.deleted', policy)]);
        return true;
      }),
  };
}

export function policyEvent(
  type: 'policy.created' | 'policy.deleted',
  { id, owner, tool, runId, targetPort }: PolicyRecord,
): NewAuditEvent {
  return { type, subject: `policy/${id}`, owner, data: { tool, run_id: runId, target_port: targetPort } };
}

/** What policies allow of the tool in the run, and its denials in the run. */
export async function allowedAndDenied(
  db: Kysely<SqlSchema>,
  owner: Owner,
  runId: string,
  tool: string,
): Promise<{ readonly policies: readonly PolicyRecord[]; readonly denials: readonly Subject[] }> {
  const policies = await db
    .selectFrom('approval_policies')
    .selectAll()
    .where(ownedBy(owner))
    .where('tool', '=', tool)
    .where('run_id', 'in', [runId, ''])
    .execute();
  if (policies.length === 0) return { policies: [], denials: [] };
  // Read after the policies: a denial that was written before one of them is seen.
  const denials = await db
    .selectFrom('approval_denials')
    .select(['target_port', 'rotate'])
    .where('run_id', '=', runId)
    .where('tool', '=', tool)
    .execute();
  return { policies: policies.map(toPolicy), denials: denials.map(toSubject) };
}

/** A denial is kept until the same is approved. */
export async function keepDecision(
  trx: Transaction<SqlSchema>,
  { runId, tool, args, status }: ApprovalRecord,
): Promise<void> {
  const subject = subjectOf(args);
  if (status === 'denied') {
    await trx
      .insertInto('approval_denials')
      .values({ run_id: runId, tool, target_port: subject.targetPort ?? 0, rotate: Number(subject.rotate) })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return;
  }
  const taken = [false, true].filter((rotate) => takesBack(subject, { ...subject, rotate }));
  await trx
    .deleteFrom('approval_denials')
    .where('run_id', '=', runId)
    .where('tool', '=', tool)
    .where('target_port', '=', subject.targetPort ?? 0)
    .where('rotate', 'in', taken.map(Number))
    .execute();
}

function toSubject(row: Pick<Row<'approval_denials'>, 'target_port' | 'rotate'>): Subject {
  return { targetPort: row.target_port === 0 ? null : row.target_port, rotate: row.rotate === 1 };
}
