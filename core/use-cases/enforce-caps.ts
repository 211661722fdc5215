import { PortholeError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Owner } from '../ports/owner.ts';
import type { Preview, PreviewPlane } from '../ports/preview-plane.ts';
import type { Records } from '../ports/records.ts';
import type { NewEvent } from '../ports/timeline.ts';
import type { PreviewOptions } from '../preview-options.ts';
import { previewReaped, previewStopped, type ReapReason } from '../rules/preview-events.ts';
import { isPastMaximum } from '../rules/preview-lifetime.ts';
import { countExceeded, quotaOf, type Quotas } from '../rules/quotas.ts';

export interface EnforceCapsDeps {
  readonly records: Records;
  readonly plane: PreviewPlane;
  readonly clock: Clock;
  readonly preview: PreviewOptions;
  readonly quotas: Quotas;
}

/**
 * Whether a start may go on with what it opened under a generation. False, and it is gone, when it belongs to the past: a stop that read this generation may have
 * found nothing to delete, because we had not created it yet. When it cannot be found out, nobody hears of it, and it is gone as well.
 * @throws PortholeError `too_many_previews`, `quota_exceeded`, and what the records and the plane
 * fail with
 */
export async function enforceCaps(
  deps: EnforceCapsDeps,
  opened: { readonly preview: Preview; readonly created: boolean },
  generation: number,
  owner: Owner,
): Promise<boolean> {
  try {
    return await mayStay(deps, opened, generation, quotaOf(deps.quotas, owner).previews ?? undefined);
  } catch (error) {
    // Unless another start has met it since.
    if (opened.created) await withdraw(deps, opened.preview).catch(() => undefined);
    throw error;
  }
}

async function mayStay(
  deps: EnforceCapsDeps,
  { preview: opened, created }: { readonly preview: Preview; readonly created: boolean },
  generation: number,
  mostOfOwner: number | undefined,
): Promise<boolean> {
  const { plane, records, clock, preview: options } = deps;
  /** What somebody else has opened may have been answered, and told. */
  const appendIfOurs = async (events: readonly NewEvent[]) => {
    if (!created) await records.timeline.append(opened.runId, events, clock.now());
  };
  const reap = async (reason: ReapReason) => {
    const gone = await withdraw(deps, opened);
    if (gone) await appendIfOurs(previewReaped(opened, reason));
    return gone;
  };
  if (plane.hasUrls && isPastMaximum(opened, options, clock.now())) {
    // The reaper would end it within a minute: the caller is better served by a new life under the same URL.
    await reap('max_lifetime');
    return false;
  }
  const excess = !(await plane.isAmongFirst(opened, options.maxPerRun))
    ? tooManyPreviews(opened.runId, options)
    : mostOfOwner !== undefined && !(await plane.isAmongFirst(opened, mostOfOwner, 'owner'))
      ? countExceeded('previews', mostOfOwner)
      : undefined;
  if (excess !== undefined) {
    if (!(await reap('over_cap')) && (await plane.find(opened.token))?.uid === opened.uid) return false;
    throw excess;
  }
  if ((await records.previews.generation(opened.runId, opened.targetPort)) === generation) return true;
  if (await plane.close(opened, { uid: opened.uid })) await appendIfOurs(previewStopped(opened));
  return false;
}

/** Only as it was opened: whoever has confirmed or kept it since judged by what stands now, and counts on it. */
function withdraw({ plane }: EnforceCapsDeps, preview: Preview): Promise<boolean> {
  const { uid, version } = preview;
  return plane.close(preview, { uid, version });
}

export function tooManyPreviews(
  runId: string,
  { maxPerRun }: Pick<PreviewOptions, 'maxPerRun'>,
): PortholeError {
  return new PortholeError(
    'too_many_previews',
    `Run ${runId} already has ${maxPerRun} live previews, which is the most a run may have: stop one first.`,
  );
}
