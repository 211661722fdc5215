import type { ToolArguments } from '../ports/approvals.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Records } from '../ports/records.ts';
import type { RunRecord } from '../ports/run-records.ts';
import type { PreviewOptions } from '../preview-options.ts';
import { approvedBeforehand, type Grant, policyGrant } from '../rules/approval-events.ts';

/** What an agent wants to do with a tool. */
export interface ToolCall {
  readonly run: RunRecord;
  readonly tool: string;
  readonly args: ToolArguments;
  /** What a person is asked. */
  readonly message: string;
  /** Whether it is the agent itself that asks, whose rights end with its run. */
  readonly byAgent: boolean;
}

export interface GrantBeforehandDeps {
  readonly records: Pick<Records, 'policies' | 'timeline'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly preview: Pick<PreviewOptions, 'autoApprove'>;
}

/** Whether something has approved the call beforehand, so that nobody need be asked. The timeline then tells what. */
export async function grantBeforehand(deps: GrantBeforehandDeps, call: ToolCall): Promise<boolean> {
  const grant = await findGrant(deps, call);
  if (grant === undefined) return false;
  const event = approvedBeforehand({ ...call, id: deps.ids.approval() }, grant);
  await deps.records.timeline.append(call.run.id, [event], deps.clock.now());
  return true;
}

async function findGrant(
  { preview, records }: GrantBeforehandDeps,
  { run, tool, args }: ToolCall,
): Promise<Grant | undefined> {
  if (preview.autoApprove) return { source: 'installation' };
  if (run.autoApproveTools) return { source: 'run_option' };
  const policy = await records.policies.covering(run.owner, run.id, tool, args);
  return policy && policyGrant(policy);
}
