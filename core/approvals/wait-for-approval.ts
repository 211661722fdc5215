import { PortholeError } from '#base/errors.ts';
import type { Clock, Ids, WakingClock } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import { createWakeSignal } from '#base/wake-signal.ts';
import type { ToolCall } from './approval-decisions.ts';
import { displayId } from './approval-events.ts';
import { answerBy, leaseUntil, renewAt, requestBounds } from './approval-rules.ts';
import type { ApprovalRecord } from './approval-store.ts';
import { traced } from '../telemetry/tracing.ts';

const FORGOTTEN_HOURS = 24;

/**
 * Times out requests that no live function waits for, and deletes those that ended a day ago.
 * Returns how many timed out.
 */
export async function endApprovals({
  records,
  clock,
}: {
  readonly records: Pick<Records, 'approvals'>;
  readonly clock: Clock;
}): Promise<number> {
  const now = clock.now();
  const ended = await records.approvals.timeOut(now);
  await records.approvals.forget(new Date(now.getTime() - FORGOTTEN_HOURS * 3_600_000));
  return ended;
}

export interface WaitForApprovalDeps {
  readonly records: Pick<Records, 'approvals' | 'runs' | 'timeline'>;
  readonly clock: WakingClock;
  readonly ids: Ids;
  /** Aborted when this process shuts down. */
  readonly stopping: AbortSignal;
}

export interface Waiting {
  /** Aborted when the caller disconnects. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the request once it waits, new or joined. */
  readonly onWaiting?: ((approval: ApprovalRecord) => void) | undefined;
}

/**
 * Asks a person, and waits for the decision, five minutes at most. Identical calls share one
 * request. A retry finds the decision again if the function that waited for it was killed. Returns
 * the approval: `take` it once the approved action is done.
 * @throws PortholeError `approval_denied`, `approval_timed_out`, `too_many_approvals`; `run_ended`
 * if the run has completed meanwhile; `service_unavailable` when this process shuts down or the
 * records are unavailable: the request stays pending. The signal's abort reason, after the request
 * is withdrawn, unless another caller waits
 */
export function waitForApproval(
  deps: WaitForApprovalDeps,
  call: ToolCall,
  waiting: Waiting = {},
): Promise<ApprovalRecord> {
  const attributes = { 'porthole.run.id': call.run.id, 'porthole.tool': call.tool };
  return traced({ name: 'approval.wait', attributes }, () => wait(deps, call, waiting));
}

async function wait(
  deps: WaitForApprovalDeps,
  call: ToolCall,
  { signal, onWaiting }: Waiting,
): Promise<ApprovalRecord> {
  const { records, clock, ids, stopping } = deps;
  const waiterId = ids.request();
  const waiter = (now: Date) => ({ id: waiterId, until: leaseUntil(now) });
  const wakeSignal = createWakeSignal(clock, [signal, stopping]);
  // Subscribe before the first read: a decision that arrives after it wakes the loop.
  const unwatch = records.timeline.watch(call.run.id, wakeSignal.notify);
  try {
    const asked = clock.now();
    const request = {
      id: ids.approval(),
      runId: call.run.id,
      tool: call.tool,
      args: call.args,
      message: call.message,
      requestedAt: asked,
      expiresAt: answerBy(asked),
    };
    const bounds = { ...requestBounds(asked), byAgent: call.byAgent };
    let approval = await records.approvals.ask(request, waiter(asked), bounds);
    // A policy may have been created after the policy lookup and before this request was stored.
    if (approval.status === 'waiting') {
      approval = await lookAgain(deps, approval, ({ runId, tool }) =>
        records.approvals.applyPolicies(runId, tool, clock.now()),
      );
    }
    let renewal = renewAt(asked);
    if (approval.status === 'waiting') onWaiting?.(approval);
    while (approval.status === 'waiting') {
      if (signal?.aborted === true) {
        await leave(deps, approval, waiterId);
        signal.throwIfAborted();
      }
      if (stopping.aborted) throw stopped();
      await wakeSignal.until(earlier(approval.expiresAt, renewal));
      const now = clock.now();
      if (now >= approval.expiresAt) await records.approvals.timeOut(now, approval.runId);
      const isDue = now >= renewal;
      if (isDue) renewal = renewAt(now);
      approval = await lookAgain(deps, approval, async ({ id }) => {
        if (isDue) await records.approvals.stay(id, waiter(now));
      });
    }
    // A caller that has gone receives nothing: the decision is kept for its retry.
    signal?.throwIfAborted();
    if (approval.status === 'approved') return approval;
    if (approval.status === 'denied') await records.approvals.take(approval.id, clock.now());
    throw await refusal(deps, approval);
  } finally {
    unwatch();
    wakeSignal.close();
  }
}

/** The request after `change`, or `before` while the records are unavailable. */
async function lookAgain(
  { records }: WaitForApprovalDeps,
  before: ApprovalRecord,
  change: (approval: ApprovalRecord) => Promise<unknown>,
): Promise<ApprovalRecord> {
  try {
    await change(before);
    return (await records.approvals.get(before.id)) ?? before;
  } catch (error) {
    if (error instanceof PortholeError && error.code === 'service_unavailable') return before;
    throw error;
  }
}

/**
 * Other waiters may have been killed. Live ones renew within a lease, so this checks once more
 * after it.
 */
async function leave(
  { records, clock, stopping }: WaitForApprovalDeps,
  { id, runId }: ApprovalRecord,
  waiterId: string,
): Promise<void> {
  const until = await records.approvals.leave(runId, id, waiterId, clock.now());
  if (until === undefined) return;
  await clock.until(until, stopping);
  if (!stopping.aborted) await records.approvals.leave(runId, id, waiterId, clock.now());
}

function stopped(): PortholeError {
  return new PortholeError('service_unavailable', 'No decision yet, and this connection is closing', {
    remedy: 'send the same request again: the approval is still pending.',
  });
}

async function refusal(
  { records }: Pick<WaitForApprovalDeps, 'records'>,
  { id, status, reason, runId, requestedAt }: ApprovalRecord,
): Promise<PortholeError> {
  const request = `request ${displayId(id)} of run ${runId}`;
  if (status === 'denied') {
    return new PortholeError(
      'approval_denied',
      `Denied (${request})${reason === null ? '' : `: “${reason}”`}. Change the request or talk to the owner before you ask again.`,
    );
  }
  if (status === 'timed_out') {
    return new PortholeError('approval_timed_out', `No decision within five minutes (${request}).`, {
      remedy: 'Retry when an approver is available.',
    });
  }
  const completedAt = (await records.runs.get(runId))?.completedAt ?? null;
  if (completedAt !== null && completedAt >= requestedAt) {
    return new PortholeError(
      'run_ended',
      `Run ${runId} completed before the approval was decided (${request}): only its owner can start the preview now.`,
    );
  }
  return new PortholeError(
    'service_unavailable',
    `The ${request} was withdrawn while this server was paused`,
    { remedy: 'send the same request again.' },
  );
}

function earlier(a: Date, b: Date): Date {
  return a < b ? a : b;
}
