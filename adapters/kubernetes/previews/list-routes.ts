import { LABELS, PREVIEW_LABELS, selector, SLOT_MS, timeSlots } from '#constructs/names.ts';
import { isFullPass } from '#core/previews/preview-lifetime.ts';
import type { Preview, PreviewFilter } from '#core/previews/preview-plane.ts';
import { absent } from '../client/kubernetes-error.ts';
import { isEarlier } from '../client/kubernetes-object.ts';
import {
  earliestTicket,
  isOurs,
  isStartOver,
  memberSelector,
  memberServices,
  ownerServiceOf,
  type PreviewStore,
  type StoredRoute,
  type StoredService,
} from './preview-store.ts';

/**
 * Most passes list only recent Services, where crashed starts are. The window lets several passes
 * see a Service after its two minutes, despite clock skew between starters and reapers. A full pass
 * also finds leftovers of a stop that crashed after a long life.
 */
const LATELY_MS = { past: 15 * 60_000, future: 10 * 60_000 };

/**
 * Removes the Services without a route for two minutes at `now`; returns how many. Ages use the API
 * server's clock.
 */
export async function collectPartial(store: PreviewStore, now: Date, signal?: AbortSignal): Promise<number> {
  const { client, services, routes } = store;
  const around = now.getTime();
  const lately = timeSlots(new Date(around - LATELY_MS.past), new Date(around + LATELY_MS.future));
  const labelSelector = isFullPass(now)
    ? selector(PREVIEW_LABELS)
    : `${selector(PREVIEW_LABELS)},${LABELS.madeSlot} in (${lately.join(',')})`;
  const query = { labelSelector, metadataOnly: true };

  // Keeps only the fields that deletion needs: there may be many thousands.
  const old: { readonly name: string; readonly uid: string; readonly resourceVersion: string }[] = [];
  for await (const service of client.list<StoredService>(services, query, signal)) {
    const { name, uid, resourceVersion, deletionTimestamp } = service.metadata;
    const isOver = deletionTimestamp === undefined && isStartOver(service, store.toStore(now));
    if (isOurs(service) && isOver) old.push({ name, uid, resourceVersion });
  }
  if (old.length === 0) return 0;
  // Services are listed before routes, so that a route created meanwhile is seen.
  const routed = new Set<string>();
  for await (const route of client.list<StoredRoute>(routes, query, signal)) routed.add(route.metadata.name);

  const removed = await Promise.all(
    old
      .filter(({ name }) => !routed.has(name))
      .map(async ({ name, uid, resourceVersion }) => {
        // A route may have another slot label than its Service.
        const route = await client.get(routes, name, signal).catch(absent);
        if (route !== undefined) return false;
        return client.delete(services, name, { uid, resourceVersion }, signal);
      }),
  );
  return removed.filter(Boolean).length;
}

/**
 * Whether a preview is one of the first `places` of its run or owner. Each start takes its ticket
 * by creating or claiming its Service, and lists the others only afterwards: the last admitted
 * start has seen all the others. Creation times have whole seconds and cannot order starts. A local
 * timestamp would let a delayed start outrank starts that are already admitted.
 *
 * One read while there are no more Services than places; else two. A Service with an earlier ticket
 * and no route counts until its start is over.
 */
export async function isAmongFirst(
  store: PreviewStore,
  preview: Preview,
  places: number,
  of: 'runId' | 'owner',
  signal?: AbortSignal,
): Promise<boolean> {
  const { client, routes, read } = store;
  const { name } = preview;
  const labelSelector = memberSelector(of, preview[of]);
  // Services with earlier tickets were written before ours. Later changes only remove some.
  const services = await memberServices(store, labelSelector, store.ownerService(preview)?.ticket, signal);
  const others = new Map(services.map((service) => [service.metadata.name, service]));
  others.delete(name);
  if (others.size < places) return true;
  const ticket = await ticketOf(store, preview, signal);
  // Without a ticket, its order is unknown: admit it.
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
  const route = await store.client.get<StoredRoute>(store.routes, preview.name, signal).catch(absent);
  return route && ownerServiceOf(route)?.ticket;
}

/** Most slots in a selector. Later expiries are listed and compared by their exact time. */
const MAX_SLOTS = 288;
/** Clock skew allowed for writers of an expiry, in milliseconds. */
const SKEW_MS = 600_000;

/** The previews that match a filter, each once. An expiry is at most `idleTimeoutMinutes` away. */
export async function* listPreviews(
  store: PreviewStore,
  { runId, owner, sandboxId, dueBefore }: PreviewFilter,
  idleTimeoutMinutes: number,
  signal?: AbortSignal,
): AsyncGenerator<Preview, void, undefined> {
  const select = () => {
    const terms = [
      runId !== undefined
        ? memberSelector('runId', runId)
        : owner !== undefined
          ? memberSelector('owner', owner)
          : sandboxId !== undefined
            ? memberSelector('sandboxId', sandboxId)
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
  // The first response of a process shows how far the API server's clock is ahead. Only then it is
  // known what is due.
  const now = select();
  if (now === first) return;
  for await (const preview of matching(now)) if (!listed.has(preview.uid)) yield preview;

  async function* matching(labelSelector: string) {
    for await (const route of store.client.list<StoredRoute>(store.routes, { labelSelector }, signal)) {
      const preview = store.read(route);
      if (preview === undefined || (runId !== undefined && preview.runId !== runId)) continue;
      if (sandboxId !== undefined && preview.sandboxId !== sandboxId) continue;
      if (owner === undefined || preview.owner === owner) yield preview;
    }
  }
}

/**
 * Excludes only previews that certainly expire after `time`. An expiry is at most one idle window
 * away; later ones are still listed.
 */
function dueSelector(time: Date, idleTimeoutMinutes: number): string {
  const next = new Date(time.getTime() + SLOT_MS);
  const last = new Date(time.getTime() + idleTimeoutMinutes * 60_000 + SKEW_MS);
  const later = timeSlots(next, last).slice(0, MAX_SLOTS);
  return `${LABELS.dueSlot} notin (${later.join(',')})`;
}
