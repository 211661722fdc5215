import type { Clock } from '../ports/clock.ts';
import type { Preview, PreviewPlane } from '../ports/preview-plane.ts';
import type { Records } from '../ports/records.ts';
import type { RunRecord } from '../ports/run-records.ts';
import type { Tokens } from '../ports/tokens.ts';
import { type Actor, previewStopped } from '../rules/preview-events.ts';
import { tokenSha256 } from '../rules/preview-token.ts';

export interface RevokePreviewDeps {
  readonly records: Records;
  readonly plane: PreviewPlane;
  readonly tokens: Tokens;
  readonly clock: Clock;
}

export interface Revocation {
  readonly run: RunRecord;
  readonly targetPort: number;
  /** @default the port's present one */
  readonly token?: string | undefined;
  /** What was seen under the token, where somebody has looked already. */
  readonly existing?: Preview | undefined;
  readonly by?: Actor | undefined;
}

/**
 * Ends a URL of the run's port for good, live or not: the given one, or the present one. The generation moves and the tombstone is written before
 * anything is deleted, so a crash in between is finished by the client's retry or by the reaper, never undone. For the same reason no signal stops it halfway.
 */
export async function revokePreview(
  { records, plane, tokens, clock }: RevokePreviewDeps,
  { run, targetPort, token, existing, by }: Revocation,
): Promise<void> {
  const generation = await records.previews.generation(run.id, targetPort);
  const current = tokens.preview(run.tokenKid, run.id, targetPort, generation);
  const revoked = token ?? current;
  const tombstone = {
    tokenSha256: tokenSha256(revoked),
    runId: run.id,
    reason: 'stopped',
    at: clock.now(),
  } as const;
  if (revoked === current) {
    const ends = existing ?? (await plane.find(revoked));
    const events = ends === undefined ? [] : previewStopped(ends, by);
    await records.previews.end(run.id, targetPort, generation, tombstone, events);
  } else {
    await records.previews.bury([tombstone]);
  }
  // Looked up only now: what stood under the token before may have been reaped and started anew in the meantime. Whatever is made after
  // this look is withdrawn by its own start, which checks the generation again.
  const live = await plane.find(revoked);
  if (live === undefined || !(await plane.close(live, { uid: live.uid }))) return;
  await records.timeline.append(run.id, previewStopped(live, by), tombstone.at);
}
