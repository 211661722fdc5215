import { ANNOTATIONS, parseTime } from '#constructs/names.ts';
import type { ClosePrecondition, Preview } from '#core/previews/preview-plane.ts';
import { absent } from '../client/kubernetes-error.ts';
import { within } from '../client/exchange.ts';
import {
  isOurs,
  type OwnerService,
  ownerServiceOf,
  type PreviewStore,
  START_OVER_MS,
  type StoredRoute,
  type StoredService,
} from './preview-store.ts';

/** Timeout for removing the Service, in milliseconds. After it, the sweep removes the Service. */
const SERVICE_MS = 5_000;

/**
 * Deletes a preview's route, then its owner Service unless another start has claimed that since.
 * For a preview from the store, the route is not read where the precondition has its uid.
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
    // Best effort: the preview has ended with its route.
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
  // The Service is gone, claimed by another start, or written to by another controller. Remove it
  // only in the last case.
  const found = await client.get<StoredService>(services, name, limit).catch(absent);
  if (found === undefined || found.metadata.uid !== uid || !isOurs(found)) return;
  const { annotations = {}, resourceVersion } = found.metadata;
  const claimedAt = annotations[ANNOTATIONS.claimedAt];
  if (claimedAt === undefined) {
    if (annotations[ANNOTATIONS.attempt] !== attempt) return;
  } else {
    // A start that claimed it may still create its route until START_OVER_MS has passed. After
    // that, the sweep removes it at the latest.
    const time = parseTime(claimedAt);
    if (time === undefined || store.now().getTime() - time.getTime() < START_OVER_MS) return;
  }
  await client.delete(services, name, { uid, resourceVersion }, limit);
}
