import { ANNOTATIONS, parseTime } from '#constructs/names.ts';
import type { ClosePrecondition, Preview } from '#core/previews/preview-plane.ts';
import { isReason } from '../client/kubernetes-error.ts';
import { within } from '../client/exchange.ts';
import { type PreviewStore, START_OVER_MS, type StoredRoute, type StoredService } from './preview-store.ts';
import { type OwnerService, ownerServiceOf, isOurs } from './read-preview.ts';

/** A Service that cannot be removed at once is left to the sweep. */
const SERVICE_MS = 5_000;

/**
 * Deletes a preview's route, and then the Service it stood on, if nobody has claimed that since. A
 * preview that came from the store spares a look at its route, where the precondition names that
 * very one.
 * @returns whether this call ended it
 */
export async function closePreview(
  store: PreviewStore,
  preview: Pick<Preview, 'name'>,
  { uid: wanted, version }: ClosePrecondition = {},
  signal?: AbortSignal,
): Promise<boolean> {
  const { client, routes } = store;
  const { name } = preview;
  let uid = wanted;
  let ownerService = store.ownerService(preview);
  if (ownerService === undefined || ownerService.routeUid !== wanted) {
    const route = await client.get<StoredRoute>(routes, name, signal).catch(absent);
    if (route === undefined || store.read(route) === undefined) return false;
    if (wanted !== undefined && wanted !== route.metadata.uid) return false;
    ({ uid } = route.metadata);
    ownerService = ownerServiceOf(route);
  }
  if (!(await client.delete(routes, name, { uid, resourceVersion: version }, signal))) return false;
  if (ownerService !== undefined) {
    // Nobody is served by it any more: that the preview has ended does not depend on it.
    await within(SERVICE_MS, undefined, (limit) => removeService(store, ownerService, limit)).catch(
      () => undefined,
    );
  }
  return true;
}

async function removeService(
  store: PreviewStore,
  ownerService: OwnerService,
  limit: AbortSignal,
): Promise<void> {
  const { client, services } = store;
  const { name, uid, version, attempt } = ownerService;
  if (
    version !== undefined &&
    (await client.delete(services, name, { uid, resourceVersion: version }, limit))
  ) {
    return;
  }
  // Gone, claimed by another start, or written to by somebody who minds Services: only the last is
  // ours to remove at once.
  const found = await client.get<StoredService>(services, name, limit).catch(absent);
  if (found === undefined || found.metadata.uid !== uid || !isOurs(found)) return;
  const { annotations = {}, resourceVersion } = found.metadata;
  const claimedAt = annotations[ANNOTATIONS.claimedAt];
  if (claimedAt === undefined) {
    if (annotations[ANNOTATIONS.attempt] !== attempt) return;
  } else {
    // Any start that once claimed it may still put its route on it, until its time is over; then,
    // at the latest, it is swept.
    const time = parseTime(claimedAt);
    if (time === undefined || store.now().getTime() - time.getTime() < START_OVER_MS) return;
  }
  await client.delete(services, name, { uid, resourceVersion }, limit);
}

function absent(error: unknown): undefined {
  if (isReason(error, 'NotFound')) return undefined;
  throw error;
}
