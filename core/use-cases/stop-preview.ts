import { PortholeError } from '../errors.ts';
import type { RunRecord } from '../ports/run-records.ts';
import { type Actor, previewStopped } from '../rules/preview-events.ts';
import { revokePreview, type RevokePreviewDeps } from './revoke-preview.ts';

export type StopPreviewDeps = RevokePreviewDeps;

/**
 * Stops a preview for good: its URL is revoked, and the next start of the port gets a new one.
 *
 * @throws PortholeError `preview_not_found` when no live preview of this run has the token
 */
export async function stopPreview(
  deps: StopPreviewDeps,
  { run, token, by }: { run: RunRecord; token: string; by?: Actor | undefined },
  signal?: AbortSignal,
): Promise<void> {
  const { plane, records, clock } = deps;
  const preview = await plane.find(token, signal);
  if (preview === undefined || preview.runId !== run.id) {
    throw new PortholeError(
      'preview_not_found',
      'Preview not found for this run: GET …/sandbox/port-forward lists the live ones.',
    );
  }
  if (plane.hasUrls) {
    await revokePreview(deps, { run, targetPort: preview.targetPort, token, existing: preview, by });
  } else if (await plane.close(preview, { uid: preview.uid }, signal)) {
    await records.timeline.append(run.id, previewStopped(preview, by), clock.now());
  }
}
