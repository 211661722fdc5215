import { PortholeError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { PreviewPlane } from '../ports/preview-plane.ts';
import type { Records, RunRecord } from '../ports/records.ts';
import type { Tokens } from '../ports/tokens.ts';
import { tokenSha256 } from '../rules/preview-token.ts';

export interface StopPreviewDeps {
  readonly records: Records;
  readonly plane: PreviewPlane;
  readonly tokens: Tokens;
  readonly clock: Clock;
}

/**
 * Stops a preview for good: its URL is revoked, and the next start of the port gets a new one. The generation moves and the tombstone is written
 * before anything is deleted, so a crash in between is finished by the client's retry or by the reaper, never undone.
 *
 * @throws PortholeError `preview_not_found` when no live preview of this run has the token
 */
export async function stopPreview(
  { records, plane, tokens, clock }: StopPreviewDeps,
  { run, token }: { run: RunRecord; token: string },
  signal?: AbortSignal,
): Promise<void> {
  const preview = await plane.find(token, signal);
  if (preview === undefined || preview.runId !== run.id) {
    throw new PortholeError(
      'preview_not_found',
      'Preview not found for this run: GET …/sandbox/port-forward lists the live ones.',
    );
  }
  if (plane.hasUrls) {
    const tombstone = {
      tokenSha256: tokenSha256(token),
      runId: run.id,
      reason: 'stopped',
      at: clock.now(),
    } as const;
    const generation = await records.previews.generation(run.id, preview.targetPort);
    const isCurrent = tokens.preview(run.tokenKid, run.id, preview.targetPort, generation) === token;
    if (isCurrent) await records.previews.end(run.id, preview.targetPort, generation, tombstone);
    else await records.previews.bury([tombstone]);
  }
  await plane.close(preview, { uid: preview.uid }, signal);
}
