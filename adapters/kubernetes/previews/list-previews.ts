import { LABELS, PREVIEW_LABELS, selector, SLOT_MS, timeSlots } from '#constructs/names.ts';
import type { Preview, PreviewFilter } from '#core/ports/preview-plane.ts';
import type { PreviewStore } from './preview-store.ts';
import { memberSelector } from './run-services.ts';
import type { StoredRoute } from './stored-objects.ts';

/** Slots that a selector names at most. Expiries beyond are listed, and judged by their exact time. */
const MAX_SLOTS = 288;
/** By how much the clocks of those who wrote an expiry may be ahead. */
const SKEW_MS = 600_000;

/** The previews that a filter lets through, each once. `idleTimeoutMinutes` is as far away as an expiry may lie. */
export async function* listPreviews(
  store: PreviewStore,
  { runId, owner, dueBefore }: PreviewFilter,
  idleTimeoutMinutes: number,
  signal?: AbortSignal,
): AsyncGenerator<Preview, void, undefined> {
  const select = () => {
    const terms = [
      runId !== undefined
        ? memberSelector('runId', runId)
        : owner !== undefined
          ? memberSelector('owner', owner)
          : selector(PREVIEW_LABELS),
    ];
    if (dueBefore !== undefined) terms.push(dueSelector(store.toStore(dueBefore), idleTimeoutMinutes));
    return terms.join(',');
  };
  const first = select();
  const listed = new Set<string>();
  for await (const preview of matching(first)) {
    if (dueBefore !== undefined) listed.add(preview.uid);
    yield preview;
  }
  // The first answer of a process tells how far the API server's clock is ahead: only then is it known what is due.
  const now = select();
  if (now === first) return;
  for await (const preview of matching(now)) if (!listed.has(preview.uid)) yield preview;

  async function* matching(labelSelector: string) {
    for await (const route of store.client.list<StoredRoute>(store.routes, { labelSelector }, signal)) {
      const preview = store.read(route);
      if (preview === undefined || (runId !== undefined && preview.runId !== runId)) continue;
      if (owner === undefined || preview.owner === owner) yield preview;
    }
  }
}

/** All but those whose expiry certainly lies after `time`: an expiry is at most one idle window away, and whatever claims more is looked at. */
function dueSelector(time: Date, idleTimeoutMinutes: number): string {
  const next = new Date(time.getTime() + SLOT_MS);
  const last = new Date(time.getTime() + idleTimeoutMinutes * 60_000 + SKEW_MS);
  const later = timeSlots(next, last).slice(0, MAX_SLOTS);
  return `${LABELS.dueSlot} notin (${later.join(',')})`;
}
