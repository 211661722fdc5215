import type { ApiServer, KubernetesObject, ObjectKey } from './api-server.ts';
import { changedPaths, valueAt, withValueAt } from './plan-step.ts';
import type { Registration } from './registration.ts';
import { type Properties, reveal, Secret } from './wire-values.ts';

/** Whether the resource is an object of a cluster. */
export function isObject({ custom, type }: Pick<Registration, 'custom' | 'type'>): boolean {
  return custom && type.startsWith('kubernetes:');
}

/** `kubernetes:core/v1:Namespace` → `v1`, `kubernetes:apps/v1:Deployment` → `apps/v1`. */
export function groupVersion(type: string): { apiVersion: string; kind: string } {
  const [, module = '', kind = ''] = type.split(':');
  return { apiVersion: module.replace(/^core\//, ''), kind };
}

export function keyOfInputs(type: string, inputs: Properties): ObjectKey {
  const name = valueAt(inputs, 'metadata.name');
  if (typeof name !== 'string') throw new Error(`a ${type} without a name of its own`);
  return {
    ...groupVersion(type),
    name,
    namespace: valueAt(inputs, 'metadata.namespace') as string | undefined,
  };
}

/** Applies the resource; fields whose changes are ignored keep what the cluster has. */
export async function apply(api: ApiServer, registration: Registration): Promise<KubernetesObject> {
  const live = await api.read(keyOfInputs(registration.type, registration.inputs));
  const applied = await api.apply(objectOf(registration, live));
  const condition = /^condition=(\w+)$/.exec(applied.metadata.annotations?.['pulumi.com/waitFor'] ?? '')?.[1];
  return condition === undefined ? applied : api.untilCondition(applied, condition);
}

/** Paths at which the cluster's object is no longer what the program says, though the program has not changed. */
export async function drift(
  api: ApiServer,
  registration: Registration,
): Promise<{ live: KubernetesObject | undefined; paths: readonly string[] }> {
  const live = await api.read(keyOfInputs(registration.type, registration.inputs));
  if (live === undefined) return { live, paths: ['(gone)'] };
  const wanted = await api.apply(objectOf(registration, live), { dryRun: true });
  return { live, paths: changedPaths(declared(live), declared(wanted)) };
}

/** What the program gets back: its own inputs, and beside them what the cluster reports. */
export function outputsOf(registration: Registration, live: KubernetesObject): Properties {
  const isSecret = registration.type === 'kubernetes:core/v1:Secret';
  return {
    ...live,
    ...registration.inputs,
    ...(isSecret && { data: new Secret(live['data']) }),
  };
}

function objectOf({ type, inputs, ignoreChanges }: Registration, live: KubernetesObject | undefined) {
  const object = { ...(reveal(inputs) as Properties), ...groupVersion(type) };
  const kept = live === undefined ? [] : ignoreChanges;
  return kept.reduce(
    (each: Properties, path) => withValueAt(each, path, valueAt(live, path)),
    object,
  ) as KubernetesObject;
}

/** The object without what the API server notes about it. */
function declared({ metadata, ...object }: KubernetesObject): unknown {
  const { status: _, ...rest } = object as { status?: unknown };
  const { labels, annotations } = metadata as { labels?: unknown; annotations?: unknown };
  return { ...rest, metadata: { labels, annotations } };
}
