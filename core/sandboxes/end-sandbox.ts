import { listPreviews, revokePreview, type RevokePreviewDeps } from '../previews/live-previews.ts';
import type { Actor } from '../previews/preview-events.ts';
import { runCompleted } from '../runs/run-events.ts';
import { oneAtATime } from '../shared/concurrency.ts';
import type { Records } from '../shared/records.ts';
import type { SandboxProvider } from './sandbox-provider.ts';
import type { SandboxRecord } from './sandbox-records.ts';

interface DestroySandboxDeps {
  readonly records: Records;
  readonly provider: SandboxProvider;
}

/**
 * Ends a sandbox and its files for good. The wish is recorded first, so that a crash in the middle
 * is finished later.
 */
export async function destroySandbox(
  { records, provider }: DestroySandboxDeps,
  { id, generation }: Pick<SandboxRecord, 'id' | 'generation'>,
): Promise<void> {
  await records.sandboxes.setDesired(id, 'destroyed', generation);
  // Two at a time could both find it there, and the slower one destroy what has taken over the id
  // by then.
  await oneAtATime(records.sandboxes, id, async () => {
    const found = await records.sandboxes.get(id);
    if (found?.generation !== generation || found.observed === 'destroyed') return;
    await provider.destroy(id);
    await records.sandboxes.setObserved(id, 'destroyed', generation);
  });
}

export type EndSandboxDeps = DestroySandboxDeps & RevokePreviewDeps;

/**
 * Ends a sandbox for good, and with it all that was about it: the URLs of its previews are revoked
 * and its runs complete, so that neither a URL nor an agent's token reaches the sandbox that is
 * made under its id next. The wish is recorded first; may be repeated after a crash anywhere.
 */
export async function endSandbox(
  deps: EndSandboxDeps,
  sandbox: Pick<SandboxRecord, 'id' | 'generation'>,
  by?: Actor,
): Promise<void> {
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
  await destroySandbox(deps, sandbox);
}
