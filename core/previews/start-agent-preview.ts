import { PortholeError } from '#base/errors.ts';
import { type AccessLevel, isWider } from '#protocol/preview-access.ts';
import type { Records } from '../records.ts';
import { accessOf, AUDIENCES } from './preview-access.ts';
import {
  checkRoom,
  checkStart,
  reuseExistingPreview,
  type PreviewStart,
  type StartedPreview,
  startPreview,
  type StartPreviewDeps,
} from './start-preview.ts';
import { grantBeforehand, type GrantBeforehandDeps, type ToolCall } from '../approvals/approval-decisions.ts';
import { waitForApproval, type WaitForApprovalDeps, type Waiting } from '../approvals/wait-for-approval.ts';

export type StartAgentPreviewDeps = StartPreviewDeps & GrantBeforehandDeps & WaitForApprovalDeps;

/** The tool's name in policies and timelines. */
export const START_PREVIEW = 'start_preview';

/**
 * Opens a preview for an agent, after approval. No approval is requested for a call that would fail
 * anyway, or for a preview that is already open.
 *
 * The life of a preview:
 * 1. Its token, and so its URL and the name of its objects, is derived from run, port and
 *    generation: every process computes the same. The generation counts the stops of the port.
 * 2. A person approves, or a rule has (`approvals`). Owners need no approval (`startPreview`).
 * 3. `PreviewPlane.open` creates it: a file and a map on one machine, a Service and an HTTPRoute in
 *    a cluster. Two starts at once create one.
 * 4. Caps and generation are checked after the creation: a start that is over a cap, or that a stop
 *    overtook, deletes its preview again.
 * 5. `PreviewPlane.awaitReady` resolves once the URL serves, `awaitApp` once the app listens.
 * 6. Keepalives and traffic extend it. `reapPreviews` ends it when it is due, `stopPreview` for
 *    good.
 * A process that dies in between leaves a preview that the next start continues, or that the reaper
 * ends.
 * @throws PortholeError what `startPreview` and `waitForApproval` throw
 */
export async function startAgentPreview(
  deps: StartAgentPreviewDeps,
  start: PreviewStart,
  waiting: Waiting = {},
): Promise<StartedPreview> {
  const { run, targetPort, rotate } = start;
  const { signal } = waiting;
  await checkStart(deps, start, signal);
  const generation = await deps.records.previews.generation(run.id, targetPort);
  const token = deps.tokens.preview(run.tokenKid, run.id, targetPort, generation);
  const met = rotate === true ? undefined : await reuseExistingPreview(deps, start, token, signal);
  if (met !== undefined) return met;

  const { level } = await accessOf(deps, { runId: run.id, targetPort });
  const call = toolCall(start, { generation, level });
  await checkRoom(deps, { run, token }, signal);
  if (await grantBeforehand(deps, call)) return startPreview(deps, start, signal);
  const approval = await waitForApproval(deps, call, waiting);
  await checkCallerStill(deps, start);
  await checkLevelStill(deps, start, level);
  // Runs to its end without the caller's signal: a caller that leaves now must not keep an approval
  // that has already opened a preview.
  const started = await startPreview(deps, { ...start, generation });
  // Taken last: after a crash before this, the approval is available for the retry. A rotating
  // start has then raised the generation, so that its retry asks again.
  await deps.records.approvals.take(approval.id, deps.clock.now());
  return started;
}

/**
 * An approval applies to one generation of the port, and to one level: after a stop, or for more
 * people, a new approval is needed.
 */
function toolCall(
  { run, targetPort, rotate, by }: PreviewStart,
  { generation, level }: { readonly generation: number; readonly level: AccessLevel },
): ToolCall {
  const rotates = rotate === true;
  return {
    run,
    tool: START_PREVIEW,
    byAgent: by === 'agent',
    args: {
      target_port: targetPort,
      level,
      ...(rotates ? { rotate: true } : {}),
      ...(generation > 0 ? { generation } : {}),
    },
    message: rotates
      ? `Revoke the preview URL of port ${targetPort} and open a new one? ${AUDIENCES[level]}`
      : `Open a live preview of port ${targetPort}? ${AUDIENCES[level]}`,
  };
}

/**
 * @throws PortholeError `run_ended` for an agent with a run that has completed meanwhile: its token
 * is revoked
 */
export async function checkCallerStill(
  { records }: { readonly records: Pick<Records, 'runs'> },
  { run, by }: Pick<PreviewStart, 'by' | 'run'>,
): Promise<void> {
  if (by !== 'agent' || (await records.runs.get(run.id))?.status === 'running') return;
  throw new PortholeError(
    'run_ended',
    `Run ${run.id} completed while its agent waited for the approval: its owner may still start the preview.`,
  );
}

/** @throws PortholeError `preview_conflict` if more people could open it than were approved */
async function checkLevelStill(
  deps: StartAgentPreviewDeps,
  { run, targetPort }: PreviewStart,
  approved: AccessLevel,
): Promise<void> {
  const { level } = await accessOf(deps, { runId: run.id, targetPort });
  if (!isWider(level, approved)) return;
  throw new PortholeError(
    'preview_conflict',
    `The level of port ${targetPort} became ${level} while the approval of ${approved} was pending`,
    { remedy: 'start it again: its owner is asked about the new level.' },
  );
}
