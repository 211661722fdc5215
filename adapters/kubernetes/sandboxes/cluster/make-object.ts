import type { Collection } from '../../client/collection.ts';
import type { KubernetesClient } from '../../client/kubernetes-client.ts';
import { isReason, KubernetesError } from '../../client/kubernetes-error.ts';
import type { KubernetesObject } from '../../client/kubernetes-object.ts';

/** A call whose answer was lost is made again this often; whether it took effect shows then. */
const TRIES = 3;

/** Makes an object; undefined where there is one of its name already. */
export async function makeObject(
  client: KubernetesClient,
  into: Collection,
  manifest: object,
  signal: AbortSignal | undefined,
): Promise<KubernetesObject | undefined> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await client.create(into, manifest, signal);
    } catch (error) {
      if (isReason(error, 'AlreadyExists')) return undefined;
      const isUnknown = error instanceof KubernetesError && error.inDoubt;
      if (!isUnknown || tries === TRIES) throw error;
    }
  }
}
