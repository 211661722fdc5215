import type { Readable } from 'node:stream';
import { PortholeError } from '#base/errors.ts';
import { writeWorkspaceFile } from '../files/workspace-files.ts';
import { destroySandbox } from '../sandboxes/end-sandbox.ts';
import { stopSandbox } from '../sandboxes/resume-sandbox.ts';
import { EDITOR_OWNER } from '../sandboxes/sandbox-owner.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import { draftLocked, type EditorOptions, sessionOf, tagsOf } from './editor-limits.ts';
import type { LockClaim, NewToolRun, RunBeginning, SnapshotRecord, ToolRunRecord } from './editor-store.ts';
import { type Executed, executeTool, type ExecuteToolDeps, failure, toolError } from './execute-tool.ts';
import {
  cleanSnapshots,
  snapshotExpired,
  snapshotSandbox,
  type SnapshotSandboxDeps,
} from './tool-snapshots.ts';

/** Maximum running sandboxes of one person's snapshots. An action on a stopped one resumes it. */
const MAX_RUNNING = 8;

/**
 * The editor's sandboxes have no quota. This stops all but the newest, unless a run is under way in
 * them. Their files stay.
 */
async function stopSurplus(deps: SnapshotSandboxDeps, owner: Owner): Promise<void> {
  const { records, clock } = deps;
  const { items } = await records.sandboxes.list(
    EDITOR_OWNER,
    { state: 'running', tags: tagsOf(owner) },
    { limit: 100 },
  );
  const surplus = items.slice(MAX_RUNNING);
  if (surplus.length === 0) return;
  const underWay = await records.toolSnapshots.underWay(owner, clock.now());
  const busy = new Set([...underWay].map(sessionOf));
  for (const sandbox of surplus) {
    if (!busy.has(sandbox.sessionKey ?? '')) await stopSandbox(deps, sandbox);
  }
}

export interface PerformRunDeps extends SnapshotSandboxDeps, ExecuteToolDeps {
  /** Aborted when this process shuts down. */
  readonly stopping: AbortSignal;
  /** Logs failures that the tool did not cause. */
  readonly log: { error(fields: object, message: string): void };
}

/** A file for one run only. */
export interface InputFile {
  /** A name without a path. */
  readonly name: string;
  readonly size: number;
  /** May be called once. */
  open(): Readable;
}

/** Concurrent runs of one owner, each in a separate sandbox. */
const MAX_CONCURRENT_RUNS = 4;
/** Expired snapshots, of any owner, to remove during each run. */
const MAX_CLEANED = 3;
/**
 * Time allowed before and after the code itself, in milliseconds: pulling an image can take long. A
 * run that exceeds it was interrupted.
 */
const AROUND_MS = 5 * 60_000;

/** When a run that begins now counts as interrupted. */
export function deadlineOf(now: Date, { runTimeoutMs }: EditorOptions): Date {
  return new Date(now.getTime() + runTimeoutMs + AROUND_MS);
}

/**
 * Records a run, executes it and records the outcome. It continues when its client disconnects.
 * @param made the snapshot, if it is new
 * @throws PortholeError `draft_locked`, `snapshot_busy`, `snapshot_expired`, `too_many_tool_runs`,
 * `quota_exceeded`: then nothing has begun
 */
export async function performRun(
  deps: PerformRunDeps,
  claim: LockClaim,
  run: NewToolRun,
  snapshot: SnapshotRecord,
  { isNew, files = [] }: { readonly isNew: boolean; readonly files?: readonly InputFile[] },
): Promise<ToolRunRecord> {
  const { records, clock } = deps;
  const begun = await records.toolRuns.begin(claim, run, isNew ? snapshot : undefined, {
    runs: MAX_CONCURRENT_RUNS,
    snapshotBytes: deps.editor.snapshotTotalBytes,
  });
  if (begun.kind !== 'begun') throw refusal(begun, claim, run, deps.editor);
  // Reads the state that the previous run stored: runs of a snapshot are sequential from here.
  const current = isNew ? snapshot : await records.toolSnapshots.get(snapshot.id);
  const [{ executed, sandbox, broken }] = await Promise.all([
    tryRun(deps, run, current ?? snapshot, files),
    isNew ? makeRoom(deps, run) : undefined,
  ]);
  const { outcome, state } = executed;
  const endedAt = clock.now();
  const isEnded = await records.toolRuns.end(run.id, outcome, endedAt, { sandboxId: sandbox?.id, state });
  // Without next actions the sandbox is not needed any more.
  const used = sandbox ?? broken;
  if (isNew && used !== undefined && outcome.nextActions.length === 0) {
    await quietly(deps, run, () => destroySandbox(deps, used));
  }
  // A run that exceeded its deadline stays failed.
  const existing = isEnded ? undefined : await records.toolRuns.get(run.id);
  return existing ?? { ...run, ...outcome, endedAt };
}

/** Removes expired snapshots and stops surplus sandboxes while the run executes. */
function makeRoom(deps: PerformRunDeps, run: NewToolRun): Promise<void> {
  return quietly(deps, run, async () => {
    await cleanSnapshots(deps, { most: MAX_CLEANED });
    await stopSurplus(deps, run.owner);
  });
}

/** Clean-up failures do not fail the run: a later pass retries. */
async function quietly(
  { log }: PerformRunDeps,
  { id }: NewToolRun,
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work();
  } catch (err) {
    log.error(
      { err, run_id: id },
      'the sandboxes of snapshots were not tidied up: the next pass tries again',
    );
  }
}

async function tryRun(
  deps: PerformRunDeps,
  run: NewToolRun,
  snapshot: SnapshotRecord,
  files: readonly InputFile[],
): Promise<{
  readonly executed: Executed;
  readonly sandbox?: SandboxRecord;
  /** The sandbox, instead of `sandbox`, if execution failed in it. */
  readonly broken?: SandboxRecord | undefined;
}> {
  const { stopping, log } = deps;
  let made: SandboxRecord | undefined;
  try {
    const sandbox = await snapshotSandbox(deps, snapshot, stopping);
    made = sandbox;
    for (const file of files) {
      const path = `/workspace/runs/${run.id}/inputs/${file.name}`;
      await writeWorkspaceFile(deps, sandbox.id, path, file.open(), { signal: stopping });
    }
    const context = {
      run_id: run.id,
      snapshot_id: snapshot.id,
      session: sessionOf(snapshot.id),
      action_id: run.actionId,
      state: snapshot.state,
      session_lost: snapshot.sandboxId !== null && snapshot.sandboxId !== sandbox.id,
      input_files: files.map(({ name, size }) => ({ name, size })),
    };
    const execution = { sandboxId: sandbox.id, runId: run.id, source: snapshot, inputs: run.inputs, context };
    const executed = await executeTool(deps, execution, stopping);
    // Background processes of the run would continue for ever.
    if (executed.isCutOff) await stopSandbox(deps, sandbox);
    return { executed, sandbox };
  } catch (error) {
    return {
      executed: notExecuted(error, stopping, (err) => log.error({ err, run_id: run.id }, 'tool not run')),
      // On shutdown the periodic clean-up destroys it.
      broken: stopping.aborted ? undefined : made,
    };
  }
}

function notExecuted(error: unknown, stopping: AbortSignal, report: (error: unknown) => void): Executed {
  const failed = (cause: ReturnType<typeof toolError>): Executed => ({
    outcome: failure(cause),
    state: undefined,
    isCutOff: false,
  });
  if (stopping.aborted)
    return failed(toolError('interrupted', 'The service was restarted meanwhile: run again.'));
  report(error);
  const why = error instanceof PortholeError ? error.message : 'something went wrong on our side.';
  return failed(toolError('sandbox_failed', `It could not be run in its sandbox: ${why} Run again.`));
}

function refusal(
  begun: Exclude<RunBeginning, { kind: 'begun' }>,
  claim: LockClaim,
  run: NewToolRun,
  { snapshotTotalBytes }: EditorOptions,
): PortholeError {
  if (begun.kind === 'not_locked') return draftLocked(begun.draft, claim.at);
  if (begun.kind === 'expired') return snapshotExpired(run);
  if (begun.kind === 'busy') {
    return new PortholeError('snapshot_busy', `Run ${begun.runId} of this snapshot is under way`, {
      remedy: 'wait until it ends: runs of a snapshot share files and state.',
      details: { run_id: begun.runId },
    });
  }
  if (begun.kind === 'full') {
    return new PortholeError(
      'quota_exceeded',
      `The snapshots of your runs would have ${begun.bytes} bytes; the maximum is ${snapshotTotalBytes}. Wait until some expire, or keep less code and state.`,
      { details: { bytes: begun.bytes, most: snapshotTotalBytes } },
    );
  }
  return new PortholeError('too_many_tool_runs', `You have ${begun.running} active runs, the maximum`, {
    remedy: 'wait for one to end.',
  });
}
