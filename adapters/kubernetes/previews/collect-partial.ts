import { LABELS, PREVIEW_LABELS, selector, timeSlots } from '#constructs/names.ts';
import { isFullPass } from '#core/rules/reaper-pass.ts';
import { isReason } from '../client/kubernetes-error.ts';
import type { PreviewStore } from './preview-store.ts';
import type { StoredRoute, StoredService } from './stored-objects.ts';
import { isOurs } from './read-preview.ts';
import { isStartOver } from './service-claim.ts';

/**
 * Most passes look only at what was made lately, which is where starts that crashed are: several passes see it after its two minutes, with clocks of starters and
 * reapers that differ by some. A full one also finds what a stop left that crashed after a long life.
 */
const LATELY_MS = { past: 15 * 60_000, future: 10 * 60_000 };

/** Removes the Services that have borne no route for two minutes at `now`; says how many. Their ages are judged by the API server's clock. */
export async function collectPartial(store: PreviewStore, now: Date, signal?: AbortSignal): Promise<number> {
  const { client, services, routes } = store;
  const around = now.getTime();
  const lately = timeSlots(new Date(around - LATELY_MS.past), new Date(around + LATELY_MS.future));
  const labelSelector = isFullPass(now)
    ? selector(PREVIEW_LABELS)
    : `${selector(PREVIEW_LABELS)},${LABELS.madeSlot} in (${lately.join(',')})`;
  const query = { labelSelector, metadataOnly: true };

  // Of many thousands no more than their deletion takes.
  const old: { readonly name: string; readonly uid: string; readonly resourceVersion: string }[] = [];
  for await (const service of client.list<StoredService>(services, query, signal)) {
    const { name, uid, resourceVersion, deletionTimestamp } = service.metadata;
    const isOver = deletionTimestamp === undefined && isStartOver(service, store.toStore(now));
    if (isOurs(service) && isOver) old.push({ name, uid, resourceVersion });
  }
  if (old.length === 0) return 0;
  // The Services first: a route that is made meanwhile is seen.
  const routed = new Set<string>();
  for await (const route of client.list<StoredRoute>(routes, query, signal)) routed.add(route.metadata.name);

  const removed = await Promise.all(
    old
      .filter(({ name }) => !routed.has(name))
      .map(async ({ name, uid, resourceVersion }) => {
        // A route may bear another slot than its Service.
        if (await stands(store, name, signal)) return false;
        return client.delete(services, name, { uid, resourceVersion }, signal);
      }),
  );
  return removed.filter(Boolean).length;
}

async function stands({ client, routes }: PreviewStore, name: string, signal: AbortSignal | undefined) {
  try {
    await client.get(routes, name, signal);
    return true;
  } catch (error) {
    if (isReason(error, 'NotFound')) return false;
    throw error;
  }
}
