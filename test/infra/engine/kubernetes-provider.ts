/**
 * The requests of Pulumi's Kubernetes provider (4.29 and later) to an API server: a plain create,
 * then server-side apply without force, with a separate field manager for each resource. Only these
 * field managers decide whether an update conflicts with others.
 */
import { randomBytes } from 'node:crypto';
import {
  ApiError,
  type ApiServer,
  type KubernetesObject,
  type ManagedFields,
  type ObjectKey,
} from './api-server.ts';
import { pruned, type ResourceState, valueAt, withValueAt } from './plan-step.ts';
import type { Registration } from './registration.ts';
import { isRecord, type Properties, reveal, Secret } from './wire-values.ts';

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
  if (typeof name !== 'string') throw new Error(`a ${type} without its own name`);
  return {
    ...groupVersion(type),
    name,
    namespace: valueAt(inputs, 'metadata.namespace') as string | undefined,
  };
}

/** The field manager of a resource, drawn at its first registration. */
export function newFieldManager(): string {
  return `pulumi-kubernetes-${randomBytes(4).toString('hex')}`;
}

/** The manager of plain creates, with fields that the first update takes over. */
const CREATES = 'pulumi-kubernetes';

/**
 * Managers that an update takes fields over from before it applies: `kubectl` and related ones by
 * their prefix, and the provider's creates.
 */
const TAKEN_OVER: readonly [prefix: string, operation: ManagedFields['operation']][] = [
  ['kubectl', 'Apply'],
  ['kubectl', 'Update'],
  ['before-first-apply', 'Update'],
  ['pulumi-kubernetes', 'Update'],
  ['pulumi-resource-kubernetes', 'Update'],
];

interface Send {
  readonly api: ApiServer;
  readonly fieldManager: string;
  /** The inputs of the Pulumi provider. */
  readonly provider: Properties;
  readonly dryRun: boolean;
}

/** @returns undefined if a preview cannot know */
export async function create(
  { api, fieldManager, provider, dryRun }: Send,
  registration: Registration,
): Promise<KubernetesObject | undefined> {
  const object = objectOf(registration);
  try {
    const made = isOn(provider, 'upsertExistingObjects')
      ? await api.apply(object, { fieldManager, force: dryRun || isForced(object, provider), dryRun })
      : await api.create(object, { fieldManager: CREATES, dryRun });
    return dryRun ? undefined : await ready(api, made);
  } catch (error) {
    const unknown = !(error instanceof ApiError) || [403, 404, 409].includes(error.status);
    if (dryRun && unknown) return undefined;
    throw error;
  }
}

export async function update(
  { api, fieldManager, provider, dryRun }: Send,
  registration: Registration,
): Promise<KubernetesObject> {
  const object = objectOf(registration);
  const found = await api.read(keyOfInputs(registration.type, registration.inputs));
  if (found === undefined) throw new ApiError(404, `${object.kind} ${object.metadata.name} not found`);
  const live = dryRun ? found : await takeOver(api, found, fieldManager);
  const managers = live.metadata.managedFields ?? [];
  const wasCreated = managers.some((each) => each.operation === 'Update' && each.manager === CREATES);
  const force = isForced(object, provider) || managers.length === 0 || (dryRun && wasCreated);
  const wanted = registration.ignoreChanges.reduce((each: Properties, path) => {
    if (isTheirs(live, path, fieldManager)) return withValueAt(each, path, undefined);
    return withValueAt(each, path, valueAt(live, path) ?? valueAt(each, path));
  }, object as Properties) as unknown as KubernetesObject;
  const applied = await api.apply(wanted, { fieldManager, force, dryRun });
  return dryRun ? applied : ready(api, applied);
}

async function takeOver(
  api: ApiServer,
  live: KubernetesObject,
  fieldManager: string,
): Promise<KubernetesObject> {
  const entries = live.metadata.managedFields ?? [];
  const isOurs = ({ manager, operation }: ManagedFields) => manager === fieldManager && operation === 'Apply';
  const isTaken = ({ manager, operation, subresource }: ManagedFields) =>
    subresource === undefined &&
    TAKEN_OVER.some(([prefix, of]) => manager.startsWith(prefix) && operation === of);
  const taken = entries.filter((each) => isTaken(each) && !isOurs(each));
  const [first] = taken;
  if (first === undefined) return live;
  const all = [...entries.filter(isOurs), ...taken].map(({ fieldsV1 }) => fieldsV1);
  const merged = {
    ...first,
    manager: fieldManager,
    operation: 'Apply' as const,
    fieldsV1: all.reduce(union),
  };
  return api.setManagedFields(live, [...entries.filter((each) => !isTaken(each) && !isOurs(each)), merged]);
}

function union(one: Properties, other: Properties): Properties {
  return Object.entries(other).reduce((both: Properties, [key, value]) => {
    const had = both[key];
    return { ...both, [key]: isRecord(had) && isRecord(value) ? union(had, value) : value };
  }, one);
}

/** Whether others own the field, and this manager does not. */
function isTheirs({ metadata }: KubernetesObject, path: string, fieldManager: string): boolean {
  const field = path
    .split('.')
    .map((key) => `f:${key}`)
    .join('.');
  const owners = (metadata.managedFields ?? []).filter(
    ({ fieldsV1 }) => valueAt(fieldsV1, field) !== undefined,
  );
  return owners.length > 0 && owners.every(({ manager }) => manager !== fieldManager);
}

function isForced({ metadata }: KubernetesObject, provider: Properties): boolean {
  return metadata.annotations?.['pulumi.com/patchForce'] === 'true' || isOn(provider, 'enablePatchForce');
}

function isOn(provider: Properties, option: string): boolean {
  return String(provider[option]) === 'true';
}

/** Like pulumi-kubernetes, which waits for a quota until its controller has counted. */
function ready(api: ApiServer, object: KubernetesObject): Promise<KubernetesObject> | KubernetesObject {
  if (object.kind === 'ResourceQuota') return api.untilCounted(object);
  const condition = /^condition=(\w+)$/.exec(object.metadata.annotations?.['pulumi.com/waitFor'] ?? '')?.[1];
  return condition === undefined ? object : api.untilCondition(object, condition);
}

/**
 * The result of a refresh of a resource; undefined if it is gone. Inputs that were set take the
 * cluster's values.
 */
export async function refreshed(
  api: ApiServer,
  state: ResourceState,
  seal: (live: Properties) => Properties,
): Promise<ResourceState | undefined> {
  const found = await api.read(keyOfInputs(state.type, state.inputs));
  if (found === undefined) return undefined;
  const live = seal(clusterForm(state.type, found));
  return { ...state, live, inputs: pruned(live, state.inputs) as Properties };
}

/** As the API server stores it: a Secret's texts are bytes, each of them secret. */
export function clusterForm(type: string, { stringData, ...object }: Properties): Properties {
  if (type !== 'kubernetes:core/v1:Secret')
    return stringData === undefined ? object : { ...object, stringData };
  const given = (reveal(stringData) ?? {}) as Readonly<Record<string, string>>;
  const texts = Object.entries(given).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  const data = Object.entries({ ...(reveal(object['data']) as object), ...Object.fromEntries(texts) });
  return { ...object, data: Object.fromEntries(data.map(([key, value]) => [key, new Secret(value)])) };
}

/** The outputs for the program: its inputs, and beside them the cluster's fields. */
export function outputsOf({ inputs }: Registration, live: Properties): Properties {
  return { ...live, ...inputs };
}

function objectOf({ type, inputs }: Registration): KubernetesObject {
  const object = reveal(clusterForm(type, inputs)) as Properties;
  return { ...object, ...groupVersion(type) } as unknown as KubernetesObject;
}
