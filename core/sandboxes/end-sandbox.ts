import { listPreviews, revokePreview, type RevokePreviewDeps } from '../previews/live-previews.ts';
import type { Actor } from '../runs/timeline.ts';
import { runCompleted } from '../runs/run-events.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import { asEssential } from '#base/essential-work.ts';
import { oneAtATime } from '#base/concurrency.ts';
import type { Records } from '../records.ts';
import type { Sandboxes } from './sandbox-provider.ts';
import type { SandboxKey } from './sandbox-records.ts';

interface DestroySandboxDeps {
  readonly records: Records;
  readonly sandboxes: Sandboxes;
  readonly clock: Clock;
}

/**
 * Destroys a sandbox and its files, and completes its runs. The desired state is recorded first, so
 * that recovery finishes it after a crash.
 */
export function destroySandbox(deps: DestroySandboxDeps, sandbox: SandboxKey): Promise<void> {
  return asEssential(() => destroy(deps, sandbox));
}

async function destroy(
  { records, sandboxes, clock }: DestroySandboxDeps,
  { id, generation }: SandboxKey,
): Promise<void> {
  await records.sandboxes.setDesired(id, 'destroyed', generation);
  // Mutex: of two concurrent calls, the slower one could destroy a new sandbox with the same id.
  await oneAtATime(records.sandboxes, id, async () => {
    const found = await records.sandboxes.get(id);
    if (found?.generation !== generation || found.observed === 'destroyed') return;
    await sandboxes.destroy(id);
    // A creation that was interrupted leaves a run that no client knows.
    for (const runId of await records.runs.inSandbox(id)) {
      await records.runs.complete(runId, clock.now(), [runCompleted()]);
    }
    await records.checkpoints.markAllDeleted({ id, generation });
    await records.sandboxes.setObserved(id, 'destroyed', generation);
  });
}

export type EndSandboxDeps = DestroySandboxDeps & RevokePreviewDeps;

/**
 * Destroys a sandbox, revokes its previews' URLs and completes its runs, so that neither a URL nor
 * an agent's token reaches the next sandbox with its id. The desired state is recorded first;
 * idempotent after a crash at any point.
 */
export function endSandbox(deps: EndSandboxDeps, sandbox: SandboxKey, by?: Actor): Promise<void> {
  return asEssential(() => end(deps, sandbox, by));
}

async function end(deps: EndSandboxDeps, sandbox: SandboxKey, by: Actor | undefined): Promise<void> {
  const { records, clock, plane } = deps;
  await records.sandboxes.setDesired(sandbox.id, 'destroyed', sandbox.generation);
  const found = await records.sandboxes.get(sandbox.id);
  if (found?.generation !== sandbox.generation || found.observed === 'destroyed') return;
  for (const id of await records.runs.inSandbox(sandbox.id)) {
    const run = await records.runs.get(id);
    if (run === undefined) continue;
    if (run.status === 'running') await records.runs.complete(id, clock.now(), [runCompleted()]);
    for (const preview of await listPreviews(deps, run)) {
      if (plane.hasUrls) {
        const { targetPort, token } = preview;
        await revokePreview(deps, { run, targetPort, token, existing: preview, by });
      } else await plane.close(preview, { uid: preview.uid });
    }
  }
  await destroy(deps, sandbox);
}
