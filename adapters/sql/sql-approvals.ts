import { sql, type Transaction } from 'kysely';
import { approvalEnded, approvalRequired, policySource } from '#core/approvals/approval-events.ts';
import { coveringPolicy } from '#core/approvals/approval-rules.ts';
import type {
  ApprovalRecord,
  ApprovalRecords,
  ApprovalRequest,
  Waiter,
} from '#core/approvals/approval-store.ts';
import { PortholeError } from '#base/errors.ts';
import { argumentsText, toApproval, waitingRow } from './approval-rows.ts';
import { allowedAndDenied } from './policy-records.ts';
import type { Publish } from './publishing-transaction.ts';
import type { Row, SqlSchema } from './schema.ts';
import { count, instantText } from './sql-dialect.ts';

/** As a literal: only then do both databases use the indexes of waiting requests. */
export const WAITING = sql<boolean>`approvals.status = 'waiting'`;

type Ending = Pick<Row<'approvals'>, 'status'> &
  Partial<Pick<Row<'approvals'>, 'source' | 'decided_by' | 'scope' | 'reason'>>;

/**
 * Ends those requests that still wait, publishes their ends and returns them. No other function
 * ends a request.
 */
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

/** Withdraws the waiting requests of the run, or times out those that have expired. */
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

/** Approves the run's waiting requests that a policy covers. Returns them. */
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

type Bounds = Parameters<ApprovalRecords['ask']>[2];

/** Implements `ApprovalRecords.ask` within a transaction that holds the run. */
export async function ask(
  trx: Transaction<SqlSchema>,
  publish: Publish,
  request: ApprovalRequest,
  waiter: Waiter,
  { keptSince, since, most }: Bounds,
): Promise<ApprovalRecord> {
  const now = request.requestedAt;
  const waiting = await identical(trx, request).where(WAITING).executeTakeFirst();
  if (waiting !== undefined && new Date(waiting.expires_at) > now) {
    await join(trx, waiting.id, waiter);
    return toApproval(waiting);
  }
  if (waiting !== undefined) await endWaiting(trx, publish, [waiting.id], { status: 'timed_out' }, now);
  // Only the newest decision counts.
  const latest = await identical(trx, request)
    .orderBy('requested_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (latest !== undefined) {
    const approval = toApproval(latest);
    if (isKept(approval, keptSince)) return approval;
  }
  await checkBound(trx, request.runId, since, most);
  const row = await trx
    .insertInto('approvals')
    .values(waitingRow(request))
    .returningAll()
    .executeTakeFirstOrThrow();
  const asked = toApproval(row);
  await join(trx, asked.id, waiter);
  await publish(asked.runId, [approvalRequired(asked)], now);
  return asked;
}

function identical(trx: Transaction<SqlSchema>, { runId, tool, args }: ApprovalRequest) {
  return trx
    .selectFrom('approvals')
    .selectAll()
    .where('run_id', '=', runId)
    .where('tool', '=', tool)
    .where('args', '=', argumentsText(args));
}

function isKept({ status, endedAt, takenAt }: ApprovalRecord, keptSince: Date): boolean {
  const isDecided = status === 'approved' || status === 'denied';
  return isDecided && takenAt === null && endedAt !== null && endedAt > keptSince;
}

async function checkBound(
  trx: Transaction<SqlSchema>,
  runId: string,
  since: Date,
  most: number,
): Promise<void> {
  const asked = trx
    .selectFrom('approvals')
    .where('run_id', '=', runId)
    .where('requested_at', '>', instantText(since));
  if ((await count(asked)) < most) return;
  throw new PortholeError(
    'too_many_approvals',
    `Run ${runId} has asked for ${most} approvals within a few minutes, the maximum`,
    { remedy: 'wait, or let its owner allow the tool for the run.' },
  );
}

async function join(trx: Transaction<SqlSchema>, approvalId: string, waiter: Waiter): Promise<void> {
  const until = instantText(waiter.until);
  await trx
    .insertInto('approval_waiters')
    .values({ approval_id: approvalId, waiter: waiter.id, until })
    .onConflict((conflict) => conflict.columns(['approval_id', 'waiter']).doUpdateSet({ until }))
    .execute();
}
