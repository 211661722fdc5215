import type { Caller } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { JsonValue, ToolRunRecord } from './editor-store.ts';
import { lockClaim } from './draft-lock.ts';
import { findToolRun } from './find-tool.ts';
import { deadlineOf, performRun, type PerformRunDeps } from './perform-run.ts';
import { checkInputs } from './tool-run-sandbox.ts';
import { snapshotExpired } from './tool-snapshots.ts';

export interface ActionRequest {
  /** The snapshot that the caller means to act on. */
  readonly snapshotId: string | undefined;
  readonly actionId: string;
  readonly inputs: JsonValue;
}

/**
 * Starts an action that a run has offered, with the code of that run, in its sandbox, with its
 * files and its state.
 * @throws PortholeError `tool_run_not_found`, `snapshot_required`, `snapshot_mismatch`,
 * `snapshot_expired`, `unknown_action`, `draft_locked`, `snapshot_busy`, `too_many_tool_runs`,
 * `quota_exceeded`
 */
export async function startAction(
  deps: PerformRunDeps,
  caller: Caller,
  runId: string,
  lockToken: string | undefined,
  { snapshotId, actionId, inputs }: ActionRequest,
): Promise<ToolRunRecord> {
  const { person, found: parent } = await findToolRun(deps, caller, runId);
  if (snapshotId === undefined) {
    throw new PortholeError(
      'snapshot_required',
      'An action needs the snapshot_id of the run that offers it',
      { remedy: `send snapshot_id, ${parent.snapshotId} for run ${parent.id}.` },
    );
  }
  if (snapshotId !== parent.snapshotId) {
    throw new PortholeError(
      'snapshot_mismatch',
      `Snapshot ${JSON.stringify(snapshotId)} is not that of run ${parent.id}`,
      { remedy: `send ${parent.snapshotId}.` },
    );
  }
  const createdAt = deps.clock.now();
  const snapshot = await deps.records.toolSnapshots.get(snapshotId);
  if (snapshot === undefined || snapshot.expiresAt <= createdAt) throw snapshotExpired(parent);
  if (!parent.nextActions.some(({ id }) => id === actionId)) {
    const offered = parent.nextActions.map(({ id }) => JSON.stringify(id)).join(', ');
    throw new PortholeError(
      'unknown_action',
      `Run ${parent.id} offers no action ${JSON.stringify(actionId)}: ${offered === '' ? 'it offers none' : `choose one of ${offered}`}.`,
    );
  }
  checkInputs(inputs);
  const run = {
    id: deps.ids.toolRun(),
    toolId: parent.toolId,
    versionId: parent.versionId,
    owner: parent.owner,
    snapshotId,
    snapshotExpiresAt: snapshot.expiresAt,
    actionId,
    parentRunId: parent.id,
    inputs,
    createdAt,
    createdBy: person.user,
    deadline: deadlineOf(createdAt, deps.editor),
  };
  const claim = lockClaim(parent.toolId, lockToken, createdAt);
  return performRun(deps, claim, run, snapshot, { isNew: false });
}
