import type { Readable } from 'node:stream';
import { PortholeError } from '../errors.ts';
import { writeWorkspaceFile } from '../files/workspace-files.ts';
import { destroySandbox } from '../sandboxes/end-sandbox.ts';
import { stopSandbox } from '../sandboxes/resume-sandbox.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { Owner } from '../shared/clock-and-ids.ts';
import { draftLocked, EDITOR_OWNER, type EditorOptions, sessionOf, tagsOf } from './editor-limits.ts';
import type { LockClaim, NewToolRun, RunBeginning, SnapshotRecord, ToolRunRecord } from './editor-store.ts';
import { type Executed, executeTool, failure, toolError } from './execute-tool.ts';
import {
  cleanSnapshots,
  snapshotExpired,
  snapshotSandbox,
  type SnapshotSandboxDeps,
} from './tool-snapshots.ts';

/**
 * Sandboxes of one person's snapshots that run at a time; whoever acts on an older one wakes it.
 */
const MOST_RUNNING = 8;

/**
 * No quota binds the editor's sandboxes, so this does: beyond the newest few they are stopped,
 * unless a run is under way in them. Their files stay.
 */
async function stopSurplus(deps: SnapshotSandboxDeps, owner: Owner): Promise<void> {
  const { records, clock } = deps;
  const { items } = await records.sandboxes.list(
    EDITOR_OWNER,
    { state: 'running', tags: tagsOf(owner) },
    { limit: 100 },
  );
  const surplus = items.slice(MOST_RUNNING);
  if (surplus.length === 0) return;
  const underWay = await records.editor.snapshotsUnderWay(owner, clock.now());
  const busy = new Set([...underWay].map(sessionOf));
  for (const sandbox of surplus) {
    if (!busy.has(sandbox.sessionKey ?? '')) await stopSandbox(deps, sandbox);
  }
}

export interface PerformRunDeps extends SnapshotSandboxDeps {
  readonly editor: EditorOptions;
  /** Aborted when this process is about to end. */
  readonly stopping: AbortSignal;
  /** Told of what failed for reasons that are none of the tool's. */
  readonly log: { error(fields: object, message: string): void };
}

/** A file that comes with a run, for that run alone. */
export interface InputFile {
  /** A name without a path. */
  readonly name: string;
  readonly size: number;
  /** May be called once. */
  open(): Readable;
}

/** Runs of one owner under way at a time, each in a sandbox of its own. */
const MOST_AT_ONCE = 4;
/** Snapshots of anybody that are over, removed with each run. */
const MOST_CLEANED = 3;
/**
 * How long what comes before and after the code itself may take, in milliseconds: an image may have
 * to be fetched. One that runs for longer was cut off.
 */
const AROUND_MS = 5 * 60_000;

/** When a run that begins now counts as cut off. */
export function deadlineOf(now: Date, { runTimeoutMs }: EditorOptions): Date {
  return new Date(now.getTime() + runTimeoutMs + AROUND_MS);
}

/**
 * Records a run, does it and records what became of it. It goes on to its end when its client goes
 * away.
 * @param made the snapshot, where it is new
 * @throws PortholeError `draft_locked`, `snapshot_busy`, `snapshot_expired`, `too_many_tool_runs`,
 * `quota_exceeded`: then nothing was begun
 */
export async function performRun(
  deps: PerformRunDeps,
  claim: LockClaim,
  run: NewToolRun,
  snapshot: SnapshotRecord,
  { isNew, files = [] }: { readonly isNew: boolean; readonly files?: readonly InputFile[] },
): Promise<ToolRunRecord> {
  const { records, clock } = deps;
  const begun = await records.editor.beginRun(claim, run, isNew ? snapshot : undefined, {
    runs: MOST_AT_ONCE,
    snapshotBytes: deps.editor.snapshotTotalBytes,
  });
  if (begun.kind !== 'begun') throw refusal(begun, claim, run, deps.editor);
  // Its state is what the run before it has left: they come one after the other from here on.
  const current = isNew ? snapshot : await records.editor.snapshot(snapshot.id);
  const [{ executed, sandbox, broken }] = await Promise.all([
    tryRun(deps, run, current ?? snapshot, files),
    isNew ? makeRoom(deps, run) : undefined,
  ]);
  const { outcome, state } = executed;
  const endedAt = clock.now();
  const isEnded = await records.editor.endRun(run.id, outcome, endedAt, { sandboxId: sandbox?.id, state });
  // Nothing can follow it.
  const used = sandbox ?? broken;
  if (isNew && used !== undefined && outcome.nextActions.length === 0) {
    await quietly(deps, run, () => destroySandbox(deps, used));
  }
  // One that took so long that it counted as cut off stays so.
  const existing = isEnded ? undefined : await records.editor.run(run.id);
  return existing ?? { ...run, ...outcome, endedAt };
}

/** What others have left and nobody needs any more goes while this one runs. */
function makeRoom(deps: PerformRunDeps, run: NewToolRun): Promise<void> {
  return quietly(deps, run, async () => {
    await cleanSnapshots(deps, { most: MOST_CLEANED });
    await stopSurplus(deps, run.owner);
  });
}

/** What fails here, a later pass does: no run fails for it. */
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
  /** In its place where it could not be run to its end in there. */
  readonly broken?: SandboxRecord | undefined;
}> {
  const { provider, editor, stopping, log } = deps;
  let made: SandboxRecord | undefined;
  try {
    const sandbox = await snapshotSandbox(deps, snapshot, stopping);
    made = sandbox;
    for (const file of files) {
      const path = `/workspace/runs/${run.id}/inputs/${file.name}`;
      await writeWorkspaceFile(deps, sandbox.id, path, file.open(), stopping);
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
    const executed = await executeTool(provider, editor, execution, stopping);
    // What it has left in the background would go on without end.
    if (executed.isCutOff) await stopSandbox(deps, sandbox);
    return { executed, sandbox };
  } catch (error) {
    return {
      executed: notExecuted(error, stopping, (err) => log.error({ err, run_id: run.id }, 'tool not run')),
      // A process that is about to end leaves it to the clean-up.
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
    return new PortholeError(
      'snapshot_busy',
      `Run ${begun.runId} of this snapshot is under way: wait for its end, because they share files and state.`,
      { details: { run_id: begun.runId } },
    );
  }
  if (begun.kind === 'full') {
    return new PortholeError(
      'quota_exceeded',
      `The snapshots of your runs would have ${begun.bytes} bytes, of ${snapshotTotalBytes} at most: they go when they expire, so try again later, or run less code and keep less state.`,
      { details: { bytes: begun.bytes, most: snapshotTotalBytes } },
    );
  }
  return new PortholeError(
    'too_many_tool_runs',
    `You have ${begun.running} runs under way, which is the most: wait for one to end.`,
  );
}
