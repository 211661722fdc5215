import type { Tokens } from '../auth/authenticator.ts';
import { ownerOf, type Person } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { PreviewOptions } from '../previews/preview-limits.ts';
import type { PreviewPlane } from '../previews/preview-plane.ts';
import { implicitRunId } from '../previews/implicit-run.ts';
import { createSandbox, type CreateSandboxDeps } from '../sandboxes/create-sandbox.ts';
import { findSandbox } from '../sandboxes/resume-sandbox.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import { countExceeded, quotaOf } from '../sandboxes/sandbox-quotas.ts';
import type { SandboxKey, SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import { asEssential } from '#base/essential-work.ts';
import type { Records } from '../records.ts';
import { outsideToken, type ProvisionAccess } from './agent-token.ts';
import { runCompleted, runCreated, runShared, sandboxCreated } from './run-events.ts';
import type { RunRecord } from './run-records.ts';
import type { Sharing } from '#protocol/settings/shared-values.ts';

interface CompleteRunDeps {
  readonly records: Pick<Records, 'runs' | 'sandboxes'>;
  readonly plane: Pick<PreviewPlane, 'list'>;
  readonly sandboxes: Pick<Sandboxes, 'stop'>;
  readonly previewSettings: Pick<PreviewOptions, 'keepAfterRun'>;
  readonly clock: Clock;
  readonly provisionAccess: ProvisionAccess;
}

/**
 * Ends a run: its agent's token is dead, its pending approvals are withdrawn, and its sandbox stops
 * unless it is still in use.
 * Completing it again changes nothing: a sandbox that its owner has resumed since keeps running.
 */
export function completeRun(deps: CompleteRunDeps, run: RunRecord): Promise<RunRecord> {
  return asEssential(() => complete(deps, run));
}

async function complete(deps: CompleteRunDeps, run: RunRecord): Promise<RunRecord> {
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
  const { records, sandboxes, clock } = deps;
  const sandbox = await records.sandboxes.get(run.sandboxId);
  if (sandbox?.desired !== 'running' || (await isInUse(deps, sandbox))) return false;
  if (!(await records.sandboxes.moveDesired(sandbox, 'running', 'stopped', clock.now(), sandbox)))
    return false;
  try {
    await sandboxes.stop(sandbox.id);
    await records.sandboxes.setObserved(sandbox.id, 'stopped', sandbox.generation);
  } catch {
    // The run is complete. The lifecycle pass stops what is desired to be stopped and is not.
  }
  return true;
}

/**
 * Whether another run is active in the sandbox, or a preview outlives its run there. The run of
 * tunnels never completes, so only its previews count.
 */
async function isInUse(
  { records, plane, previewSettings }: CompleteRunDeps,
  sandbox: SandboxKey,
): Promise<boolean> {
  const runs = await records.runs.inSandbox(sandbox.id);
  const completed = await records.runs.completedAmong(runs);
  const tunnels = implicitRunId(sandbox);
  if (runs.some((id) => id !== tunnels && !completed.has(id))) return true;
  for (const runId of runs) {
    if (completed.has(runId) && !previewSettings.keepAfterRun) continue;
    for await (const _ of plane.list({ runId })) return true;
  }
  return false;
}

export interface CreateRunDeps extends CreateSandboxDeps {
  readonly tokens: Tokens;
  readonly provisionAccess: ProvisionAccess;
  /** How new runs are shared. */
  readonly runSharing: Sharing;
}

/** Shares the run with its owner's organisation, or no longer; a second time changes nothing. */
export async function shareRun(
  { records, clock, ids }: Pick<CreateRunDeps, 'records' | 'clock' | 'ids'>,
  person: Person,
  run: RunRecord,
  sharing: Sharing,
): Promise<RunRecord> {
  const event = runShared(sharing, person.user, ids.run());
  return (await records.runs.share(run.id, sharing, clock.now(), [event])) ?? run;
}

interface NewRun {
  readonly title?: string | undefined;
  readonly sandboxId?: string | undefined;
  readonly image?: string | undefined;
  readonly autoApproveTools: boolean;
}

/**
 * Makes a run, in a new sandbox unless one of the caller's is given. The agent token is returned
 * only here.
 * @throws PortholeError `quota_exceeded`, `sandbox_not_found`, `invalid_request`, and the
 * provider's errors
 */
export async function createRun(
  deps: CreateRunDeps,
  caller: Person,
  wanted: NewRun,
  signal?: AbortSignal,
): Promise<{ run: RunRecord; agentToken: string }> {
  const { records, tokens, clock, ids, quotas } = deps;
  const { runs: most } = quotaOf(quotas, ownerOf(caller));
  // Before a sandbox is made for it. Simultaneous requests are counted again as they are inserted.
  if (most != null && (await records.runs.countActive(ownerOf(caller))) >= most) {
    throw countExceeded('runs', most);
  }
  const begin = async (sandboxId: string, made?: SandboxRecord) => {
    const run: RunRecord = {
      id: ids.run(),
      owner: ownerOf(caller),
      title: wanted.title ?? null,
      sandboxId,
      autoApproveTools: wanted.autoApproveTools,
      status: 'running',
      tokenKid: tokens.currentKid(),
      sharing: deps.runSharing,
      tokenVersion: 0,
      createdAt: clock.now(),
      completedAt: null,
    };
    const { agentToken } = await outsideToken(tokens, run, run.createdAt);
    const events = [runCreated(run), ...(made === undefined ? [] : [sandboxCreated(made)])];
    if (!(await records.runs.create(run, events, most))) throw countExceeded('runs', most ?? 0);
    try {
      await deps.provisionAccess(sandboxId, signal);
    } catch (error) {
      // The caller never gets its id.
      await records.runs.complete(run.id, clock.now(), [runCompleted()]);
      throw error;
    }
    return { run, agentToken };
  };

  if (wanted.sandboxId !== undefined) {
    if (wanted.image !== undefined) {
      throw new PortholeError(
        'invalid_request',
        'image and sandbox_id are mutually exclusive: an existing sandbox has its image.',
      );
    }
    const sandbox = await findSandbox(deps, caller, wanted.sandboxId);
    return begin(sandbox.id);
  }
  return createSandbox(
    deps,
    { owner: ownerOf(caller), image: wanted.image },
    (sandbox) => begin(sandbox.id, sandbox),
    signal,
  );
}
