import { sql, type Transaction } from 'kysely';
import type { ApprovalRecord } from '#core/ports/approvals.ts';
import { approvalEnded, policySource } from '#core/rules/approval-events.ts';
import { coveringPolicy } from '#core/rules/approval-scope.ts';
import { instantText } from '../instant.ts';
import type { ApprovalsTable, SqlSchema } from '../schema.ts';
import type { Publish } from '../publishing-transaction.ts';
import { toApproval } from './approval-rows.ts';
import { allowedAndDenied } from './policy-records.ts';

/** As a literal: only then do both databases see that the indexes of what waits serve it. */
export const WAITING = sql<boolean>`approvals.status = 'waiting'`;

type Ending = Pick<ApprovalsTable, 'status'> &
  Partial<Pick<ApprovalsTable, 'source' | 'decided_by' | 'scope' | 'reason'>>;

/** Ends those of the requests that wait, and tells it: the one place where a request ends. Returns them. */
export async function endWaiting(
  trx: Transaction<SqlSchema>,
  publish: Publish,
  ids: readonly string[],
  ending: Ending,
  now: Date,
): Promise<readonly ApprovalRecord[]> {
  const ended: ApprovalRecord[] = [];
  for (const id of ids) {
    const row = await trx
      .updateTable('approvals')
      .set({ ...ending, ended_at: instantText(now) })
      .where('id', '=', id)
      .where('status', '=', 'waiting')
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) continue;
    await trx.deleteFrom('approval_waiters').where('approval_id', '=', id).execute();
    ended.push(toApproval(row));
  }
  const [first] = ended;
  if (first !== undefined) await publish(first.runId, ended.map(approvalEnded), now);
  return ended;
}

/** Withdraws what waits in the run, or has it timed out where its time is over. */
export async function withdrawWaiting(
  trx: Transaction<SqlSchema>,
  publish: Publish,
  runId: string,
  now: Date,
): Promise<void> {
  const waiting = await trx
    .selectFrom('approvals')
    .select(['id', 'expires_at'])
    .where('run_id', '=', runId)
    .where(WAITING)
    .orderBy('requested_at')
    .orderBy('id')
    .execute();
  for (const { id, expires_at } of waiting) {
    const status = new Date(expires_at) <= now ? 'timed_out' : 'withdrawn';
    await endWaiting(trx, publish, [id], { status }, now);
  }
}

/** Approves what waits in the run and is covered by a policy. Returns it. */
export async function approveCovered(
  trx: Transaction<SqlSchema>,
  publish: Publish,
  run: { readonly id: string; readonly owner_org: string; readonly owner_user: string },
  tool: string,
  now: Date,
): Promise<readonly ApprovalRecord[]> {
  const owner = { org: run.owner_org, user: run.owner_user };
  const { policies, denials } = await allowedAndDenied(trx, owner, run.id, tool);
  if (policies.length === 0) return [];
  const waiting = await trx
    .selectFrom('approvals')
    .selectAll()
    .where('run_id', '=', run.id)
    .where('tool', '=', tool)
    .where(WAITING)
    .where('expires_at', '>', instantText(now))
    .orderBy('requested_at')
    .execute();
  const approved: ApprovalRecord[] = [];
  for (const { id, args } of waiting.map(toApproval)) {
    const policy = coveringPolicy(args, policies, denials);
    if (policy === undefined) continue;
    const source = policySource(policy);
    const ending = { status: 'approved', source, decided_by: policy.createdBy } as const;
    approved.push(...(await endWaiting(trx, publish, [id], ending, now)));
  }
  return approved;
}
