import type { Preview } from '#core/ports/preview-plane.ts';
import { isReason } from '../client/kubernetes-error.ts';
import { isEarlier } from '../client/resource-version.ts';
import type { PreviewStore } from './preview-store.ts';
import type { StoredRoute, StoredService } from './stored-objects.ts';
import { ownerServiceOf } from './read-preview.ts';
import { memberSelector, memberServices } from './run-services.ts';
import { earliestTicket, isStartOver } from './service-claim.ts';

/**
 * Whether a preview is one of the first `places` of its run, or of its owner. Each start draws its
 * turn by making its Service, or by claiming one, and only then looks around: so of
 * any who stay, the last to draw has seen all the others. Creation times would not do, for they are whole seconds; nor would a time that a start takes by itself,
 * for one that was held up would outrank those that have been told meanwhile that they may stay.
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
