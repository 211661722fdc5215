import type { Collection, KubernetesObject } from '#adapters/kubernetes/client/kubernetes-object.ts';
import type { KubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import type { Condition } from './objects.ts';

/** Sets an object's status if it differs. */
export async function setStatus(
  client: KubernetesClient,
  into: Collection,
  object: KubernetesObject & { readonly status?: object },
  status: { readonly conditions: readonly Condition[]; readonly [field: string]: unknown },
): Promise<void> {
  const { name, generation = 0 } = object.metadata;
  const conditions = status.conditions.map((condition) => ({
    ...condition,
    observedGeneration: generation,
    lastTransitionTime: object.metadata.creationTimestamp,
  }));
  const value = { ...status, conditions };
  if (sorted(object.status) === sorted(value)) return;
  await client.jsonPatch(into, `${name}/status`, [{ op: 'add', path: '/status', value }]);
}

/** The same text for the same content, in any order of its fields. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
