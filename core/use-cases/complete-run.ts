import type { Clock } from '../ports/clock.ts';
import type { PreviewPlane } from '../ports/preview-plane.ts';
import type { Records } from '../ports/records.ts';
import type { RunRecord } from '../ports/run-records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import type { SandboxRecord } from '../ports/sandbox-records.ts';
import type { PreviewOptions } from '../preview-options.ts';
import { runCompleted } from '../rules/run-events.ts';
import type { ProvisionAccess } from './agent-access/provisioning-provider.ts';
import { implicitRunId } from './tunnels/implicit-run.ts';

export interface CompleteRunDeps {
  readonly records: Pick<Records, 'runs' | 'sandboxes'>;
  readonly plane: Pick<PreviewPlane, 'list'>;
  readonly provider: Pick<SandboxProvider, 'stop'>;
  readonly preview: Pick<PreviewOptions, 'keepAfterRun'>;
  readonly clock: Clock;
  readonly provisionAccess: ProvisionAccess;
}

/**
 * Ends a run: its agent's token is dead, its pending approvals are withdrawn, and its sandbox stops
 * unless it is still in use.
 * Completing it again changes nothing: a sandbox that its owner has resumed since keeps running.
 */
export async function completeRun(deps: CompleteRunDeps, run: RunRecord): Promise<RunRecord> {
  const { records, clock, provisionAccess } = deps;
  const completed = await records.runs.complete(run.id, clock.now(), [runCompleted()]);
  // A stopped sandbox gets the tokens of its runs when it resumes.
  const isStopped = run.status === 'running' && (await stopUnused(deps, run));
  if (!isStopped) await provisionAccess(run.sandboxId);
  return completed ?? run;
}

/**
 * False if the sandbox keeps running. An activity in between wins: the condition of `moveDesired`
 * is the record read here.
 */
async function stopUnused(deps: CompleteRunDeps, run: RunRecord): Promise<boolean> {
  const { records, provider, clock } = deps;
  const sandbox = await records.sandboxes.get(run.sandboxId);
  if (sandbox?.desired !== 'running' || (await isInUse(deps, sandbox))) return false;
  if (!(await records.sandboxes.moveDesired(sandbox, 'running', 'stopped', clock.now(), sandbox)))
    return false;
  try {
    await provider.stop(sandbox.id);
    await records.sandboxes.setObserved(sandbox.id, 'stopped', sandbox.generation);
  } catch {
    // The run is complete. The lifecycle pass stops what is desired to be stopped and is not.
  }
  return true;
}

/**
 * Another run is active in it, or one of its previews outlives its run. The run of its tunnels
 * never completes: only its previews count.
 */
async function isInUse(
  { records, plane, preview }: CompleteRunDeps,
  sandbox: Pick<SandboxRecord, 'id' | 'generation'>,
): Promise<boolean> {
  const runs = await records.runs.inSandbox(sandbox.id);
  const completed = await records.runs.completedAmong(runs);
  const tunnels = implicitRunId(sandbox);
  if (runs.some((id) => id !== tunnels && !completed.has(id))) return true;
  for (const runId of runs) {
    if (completed.has(runId) && !preview.keepAfterRun) continue;
    for await (const _ of plane.list({ runId })) return true;
  }
  return false;
}
