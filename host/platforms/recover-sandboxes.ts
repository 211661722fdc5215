import type { Clock } from '#base/clock-and-ids.ts';
import type { Records } from '#core/records.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import type { Sandboxes } from '#core/sandboxes/sandbox-provider.ts';
import { destroySandbox } from '#core/sandboxes/end-sandbox.ts';
import { runCompleted } from '#core/runs/run-events.ts';
import { stopSandbox } from '#core/sandboxes/resume-sandbox.ts';
import { everyItem } from '#base/reads.ts';
import type { Logger } from '#handlers/services.ts';

export interface RecoverDeps {
  readonly installationId: string;
  readonly records: Records;
  readonly sandboxes: Sandboxes;
  /** The clock that dates the records of sandboxes. */
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * After a start on one machine: completes the unfinished work of the last host. It completes
 * deletions, removes partially created sandboxes, restarts on their files the running sandboxes
 * that died with the machine, removes sandboxes without a record, and completes runs without a
 * sandbox. Requests are served meanwhile, and their sandboxes are left alone.
 */
export async function recoverSandboxes(deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { records, sandboxes, installationId, clock, log } = deps;
  const began = clock.now();
  const known = new Set<string>();
  for await (const sandbox of everyItem((page) => records.sandboxes.live(page, installationId))) {
    known.add(sandbox.id);
    if (sandbox.createdAt >= began) continue;
    signal.throwIfAborted();
    await recover(deps, sandbox, signal).catch((error: unknown) => {
      log.error({ err: error, sandbox_id: sandbox.id }, 'sandbox not recovered');
    });
  }
  for await (const id of sandboxes.list(signal)) {
    // Created after the records were read: its own request handles it.
    if (known.has(id) || (await records.sandboxes.get(id))?.desired === 'running') continue;
    try {
      await sandboxes.destroy(id, signal);
      log.warn({ sandbox_id: id }, 'orphaned sandbox removed');
    } catch (error) {
      signal.throwIfAborted();
      log.error({ err: error, sandbox_id: id }, 'orphaned sandbox not removed');
    }
  }
  await completeOrphanedRuns(deps, signal);
}

/** Earlier versions destroyed sandboxes of interrupted creations, and left their runs. */
async function completeOrphanedRuns(
  { records, clock, log }: RecoverDeps,
  signal: AbortSignal,
): Promise<void> {
  const running = { status: 'running' } as const;
  for await (const run of everyItem((page) => records.runs.list(undefined, page, running))) {
    signal.throwIfAborted();
    // A run is recorded after its sandbox, which keeps its record when it is destroyed.
    if ((await records.sandboxes.get(run.sandboxId))?.observed !== 'destroyed') continue;
    await records.runs.complete(run.id, clock.now(), [runCompleted()]);
    log.info({ run_id: run.id, sandbox_id: run.sandboxId }, 'run without a sandbox completed');
  }
}

async function recover(deps: RecoverDeps, sandbox: SandboxRecord, signal: AbortSignal): Promise<void> {
  const { records, sandboxes, log } = deps;
  if (sandbox.desired === 'destroyed' || sandbox.observed === 'creating') {
    await destroySandbox(deps, sandbox);
    log.info({ sandbox_id: sandbox.id }, 'incomplete sandbox removed');
    return;
  }
  const { state, stoppedFor } = await sandboxes.inspect(sandbox.id, signal);
  if (state === 'absent') {
    await destroySandbox(deps, sandbox);
    log.warn({ sandbox_id: sandbox.id }, 'sandbox is gone: its files are not there any more');
  } else if (stoppedFor !== undefined && sandbox.desired === 'running') {
    await stopSandbox(deps, sandbox, signal);
    log.warn({ sandbox_id: sandbox.id, why: stoppedFor }, 'sandbox not started again');
  } else if (state === 'stopped' && sandbox.desired === 'running') {
    await sandboxes.resume(sandbox.id, signal);
    await records.sandboxes.setObserved(sandbox.id, 'running', sandbox.generation);
    log.info({ sandbox_id: sandbox.id }, 'sandbox started again');
  }
}
