import { LABELS, PREVIEW_LABELS, selector, SLOT_MS, timeSlots } from '#constructs/names.ts';
import { isFullPass } from '#core/previews/preview-lifetime.ts';
import type { Preview, PreviewFilter } from '#core/previews/preview-plane.ts';
import { isReason } from '../client/kubernetes-error.ts';
import { isEarlier } from '../client/kubernetes-object.ts';
import {
  earliestTicket,
  isStartOver,
  memberSelector,
  memberServices,
  type PreviewStore,
  type StoredRoute,
  type StoredService,
} from './preview-store.ts';
import { isOurs, ownerServiceOf } from './read-preview.ts';

/**
 * Most passes look only at what was made lately, which is where starts that crashed are: several
 * passes see it after its two minutes, with clocks of starters and reapers that differ by some. A
 * full one also finds what a stop left that crashed after a long life.
 */
const LATELY_MS = { past: 15 * 60_000, future: 10 * 60_000 };

/**
 * Removes the Services that have borne no route for two minutes at `now`; says how many. Their ages
 * are judged by the API server's clock.
 */
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

/**
 * Whether a preview is one of the first `places` of its run, or of its owner. Each start draws its
 * turn by making its Service, or by claiming one, and only then looks around: so of
 * any who stay, the last to draw has seen all the others. Creation times would not do, for they are
 * whole seconds; nor would a time that a start takes by itself, for one that was held up would
 * outrank those that have been told meanwhile that they may stay.
 *
 * One read, of what its start has not `seen` since it drew, where there are no more Services than
 * places; else two. What has drawn an earlier turn and has no route yet counts, until its start is
 * over.
 */
export async function isAmongFirst(
  store: PreviewStore,
  preview: Preview,
  places: number,
  of: 'runId' | 'owner',
  signal?: AbortSignal,
  seen?: Promise<readonly StoredService[]>,
): Promise<boolean> {
  const { client, routes, read } = store;
  const { name } = preview;
  const labelSelector = memberSelector(of, preview[of]);
  // All who drew before us were written before us: later changes only let somebody go.
  const services = await (seen ??
    memberServices(store, labelSelector, store.ownerService(preview)?.ticket, signal));
  const others = new Map(services.map((service) => [service.metadata.name, service]));
  others.delete(name);
  if (others.size < places) return true;
  const ticket = await ticketOf(store, preview, signal);
  // Nobody can tell any more when it came.
  if (ticket === undefined) return true;

  let ahead = 0;
  const afterOurs = { labelSelector, notOlderThan: preview.version };
  for await (const route of client.list<StoredRoute>(routes, afterOurs, signal)) {
    const other = read(route);
    if (other === undefined || other[of] !== preview[of] || other.name === name) continue;
    others.delete(other.name);
    const its = ownerServiceOf(route)?.ticket;
    if (its === undefined || isEarlier(its, ticket)) ahead += 1;
  }
  for (const service of others.values()) {
    const isUnderWay = service.metadata.deletionTimestamp === undefined && !isStartOver(service, store.now());
    if (isUnderWay && isEarlier(earliestTicket(service), ticket)) ahead += 1;
  }
  return ahead < places;
}

async function ticketOf(
  store: PreviewStore,
  preview: Preview,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const known = store.ownerService(preview);
  if (known !== undefined) return known.ticket;
  try {
    const route = await store.client.get<StoredRoute>(store.routes, preview.name, signal);
    return ownerServiceOf(route)?.ticket;
  } catch (error) {
    if (isReason(error, 'NotFound')) return undefined;
    throw error;
  }
}

/**
 * Slots that a selector names at most. Expiries beyond are listed, and judged by their exact time.
 */
const MAX_SLOTS = 288;
/** By how much the clocks of those who wrote an expiry may be ahead. */
const SKEW_MS = 600_000;

/**
 * The previews that a filter lets through, each once. `idleTimeoutMinutes` is as far away as an
 * expiry may lie.
 */
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
  // The first answer of a process tells how far the API server's clock is ahead: only then is it
  // known what is due.
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

/**
 * All but those whose expiry certainly lies after `time`: an expiry is at most one idle window
 * away, and whatever claims more is looked at.
 */
function dueSelector(time: Date, idleTimeoutMinutes: number): string {
  const next = new Date(time.getTime() + SLOT_MS);
  const last = new Date(time.getTime() + idleTimeoutMinutes * 60_000 + SKEW_MS);
  const later = timeSlots(next, last).slice(0, MAX_SLOTS);
  return `${LABELS.dueSlot} notin (${later.join(',')})`;
}
