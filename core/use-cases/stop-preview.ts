import { PortholeError } from '../errors.ts';
import type { RunRecord } from '../ports/records.ts';
import { revokePreview, type RevokePreviewDeps } from './revoke-preview.ts';

export type StopPreviewDeps = RevokePreviewDeps;

/**
 * Stops a preview for good: its URL is revoked, and the next start of the port gets a new one.
 *
 * @throws PortholeError `preview_not_found` when no live preview of this run has the token
 */
export async function stopPreview(
  deps: StopPreviewDeps,
  { run, token }: { run: RunRecord; token: string },
  signal?: AbortSignal,
): Promise<void> {
  const { plane } = deps;
  const preview = await plane.find(token, signal);
  if (preview === undefined || preview.runId !== run.id) {
    throw new PortholeError(
      'preview_not_found',
      'Preview not found for this run: GET …/sandbox/port-forward lists the live ones.',
    );
  }
  if (plane.hasUrls) await revokePreview(deps, { run, targetPort: preview.targetPort, token });
  else await plane.close(preview, { uid: preview.uid }, signal);
}
