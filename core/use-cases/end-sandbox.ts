import type { SandboxRecord } from '../ports/sandbox-records.ts';
import type { Actor } from '../rules/preview-events.ts';
import { runCompleted } from '../rules/run-events.ts';
import { destroySandbox, type DestroySandboxDeps } from './destroy-sandbox.ts';
import { listPreviews } from './list-previews.ts';
import { revokePreview, type RevokePreviewDeps } from './revoke-preview.ts';

export type EndSandboxDeps = DestroySandboxDeps & RevokePreviewDeps;

/**
 * Ends a sandbox for good, and with it all that was about it: the URLs of its previews are revoked and its runs complete, so that neither a URL nor an agent's token reaches the sandbox that is
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
