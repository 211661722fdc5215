import { type GatewayReference, parentReference } from '#constructs/gateway-manifests.ts';
import type { Preview } from '#core/previews/preview-plane.ts';
import { absent, KubernetesError } from '../client/kubernetes-error.ts';
import { pointer } from '../client/kubernetes-object.ts';
import type { PreviewStore, StoredRoute } from './preview-store.ts';

/**
 * Attaches a preview's route to a Gateway; without one, detaches it: a route without `parentRefs`
 * serves nothing, and the zone's wildcard route gets its requests. Returns undefined if the route
 * was deleted, or, for a detachment, changed since it was read: a start may have attached it.
 */
export async function attachRoute(
  { client, routes }: Pick<PreviewStore, 'client' | 'routes'>,
  { name, uid, version }: Pick<Preview, 'name' | 'uid' | 'version'>,
  gateway: GatewayReference | undefined,
  signal?: AbortSignal,
): Promise<StoredRoute | undefined> {
  const isDetachment = gateway === undefined;
  try {
    return await client.jsonPatch<StoredRoute>(
      routes,
      name,
      [
        { op: 'test', path: pointer('metadata', 'uid'), value: uid },
        ...(isDetachment
          ? [{ op: 'test', path: pointer('metadata', 'resourceVersion'), value: version } as const]
          : []),
        {
          op: 'add',
          path: pointer('spec', 'parentRefs'),
          value: isDetachment ? [] : [parentReference(gateway)],
        },
      ],
      signal,
    );
  } catch (error) {
    if (!(error instanceof KubernetesError) || (error.status !== 404 && error.status !== 422)) throw error;
    // 422: a failed `test`, or an admission policy. Only a read tells them apart.
    const found = await client.get<StoredRoute>(routes, name, signal).catch(absent);
    const isSame =
      found?.metadata.uid === uid && (!isDetachment || found.metadata.resourceVersion === version);
    if (isSame) throw error;
    return undefined;
  }
}
