import { grantBeforehand, type GrantBeforehandDeps, type ToolCall } from '../approvals/approval-decisions.ts';
import { waitForApproval, type WaitForApprovalDeps, type Waiting } from '../approvals/wait-for-approval.ts';
import { singleFlight } from '#base/concurrency.ts';
import { plainText } from '#base/plain-text.ts';
import { checkCallerStill } from '../previews/start-agent-preview.ts';
import type { RunRecord } from '../runs/run-records.ts';

/** The tool's name in policies and timelines. */
export const FORK = 'fork';

export type ForkApprovalDeps = GrantBeforehandDeps & WaitForApprovalDeps;

interface ForkRequest {
  readonly run: RunRecord;
  readonly count: number;
  /** @default - one of the present, which is made once it is approved */
  readonly checkpoint?: { readonly id: string; readonly label: string | null } | undefined;
}

/**
 * Calls `fork` for the agent of a run, after approval: forks are sandboxes of its owner, who pays
 * for them. An option that opens its previews without a question does not approve this, only a
 * policy of the owner. Nothing that was approved for the run applies in a fork, which has its own
 * runs.
 * @throws PortholeError what `waitForApproval` and `fork` throw
 */
export async function forkWithApproval<T>(
  deps: ForkApprovalDeps,
  request: ForkRequest,
  fork: () => Promise<T>,
  waiting: Waiting,
): Promise<T> {
  const { run } = request;
  const call = toolCall(request);
  if (await grantBeforehand(deps, call)) return fork();
  const approval = await waitForApproval(deps, call, waiting);
  await checkCallerStill(deps, { run, by: 'agent' });
  // Calls that wait for the same approval get the same forks.
  return singleFlight(deps.records.approvals, approval.id, async () => {
    // Taken first: a retry after a crash asks again, and does not make forks twice.
    await deps.records.approvals.take(approval.id, deps.clock.now());
    return fork();
  });
}

function toolCall({ run, count, checkpoint }: ForkRequest): ToolCall {
  const what = count === 1 ? 'a sandbox' : `${count} sandboxes`;
  const label = checkpoint?.label ?? null;
  const named = label === null ? checkpoint?.id : `${checkpoint?.id} (“${plainText(label, 100)}”)`;
  return {
    run,
    tool: FORK,
    byAgent: true,
    widens: true,
    args: { count, ...(checkpoint !== undefined && { checkpoint: checkpoint.id }) },
    message: `Make ${what} with the files of ${named === undefined ? 'this sandbox' : `checkpoint ${named}`}?`,
  };
}
