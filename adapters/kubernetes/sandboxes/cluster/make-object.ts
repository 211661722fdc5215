import { setTimeout as pause } from 'node:timers/promises';
import type { Collection } from '../../client/collection.ts';
import type { KubernetesClient } from '../../client/kubernetes-client.ts';
import { isReason, KubernetesError } from '../../client/kubernetes-error.ts';
import type { KubernetesObject } from '../../client/kubernetes-object.ts';
import { type Repetition, retryDelay } from '../../client/retry-delay.ts';

/** A call whose answer was lost is made again: whether it took effect shows then. What is refused for good has been tried often enough. */
const REPEAT: Repetition = { inDoubt: true, conflict: false };

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
      const delay = isUnknown ? retryDelay(error, tries, REPEAT, Math.random()) : undefined;
      if (delay === undefined) throw error;
      await pause(delay, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
  }
}
