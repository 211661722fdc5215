import type { Transaction } from 'kysely';
import { PortholeError } from '#core/errors.ts';
import type { ApprovalRecord, ApprovalRecords, ApprovalRequest, Waiter } from '#core/ports/approvals.ts';
import { approvalRequired } from '#core/rules/approval-events.ts';
import { instantText } from '../instant.ts';
import type { SqlSchema } from '../schema.ts';
import type { Publish } from '../publishing-transaction.ts';
import { argumentsText, toApproval, waitingRow } from './approval-rows.ts';
import { endWaiting, WAITING } from './end-waiting.ts';

type Bounds = Parameters<ApprovalRecords['ask']>[2];

/** Asks within a transaction that holds the run, as `ApprovalRecords.ask` promises. */
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
  // The newest alone: what was decided before it no longer counts.
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
  const { count } = await trx
    .selectFrom('approvals')
    .select(({ fn }) => fn.countAll<number | string>().as('count'))
    .where('run_id', '=', runId)
    .where('requested_at', '>', instantText(since))
    .executeTakeFirstOrThrow();
  if (Number(count) < most) return;
  throw new PortholeError(
    'too_many_approvals',
    `Run ${runId} has asked for ${most} approvals within a few minutes, which is the most: wait, or let its owner allow the tool for the run.`,
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
