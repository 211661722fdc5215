import type { Registration } from './registration.ts';
import { isRecord, type Properties } from './wire-values.ts';

/** A resource as the state stores it: secrets sealed. */
export interface ResourceState {
  readonly urn: string;
  readonly type: string;
  readonly name: string;
  readonly custom: boolean;
  readonly id: string | undefined;
  readonly inputs: Properties;
  /** The object as the cluster last returned it, sealed; undefined if not an object. */
  readonly live?: Properties | undefined;
  /** The field manager of its object. */
  readonly fieldManager?: string | undefined;
  /** URNs that must outlive it: its dependencies, its parent, its provider. */
  readonly needs: readonly string[];
}

export type Step =
  | { readonly op: 'create' }
  | { readonly op: 'same' }
  | { readonly op: 'update' | 'replace'; readonly paths: readonly string[] };

/**
 * Fields that the API server makes immutable; the name and the namespace, besides, identify the
 * object.
 */
const IMMUTABLE: Readonly<Record<string, readonly string[]>> = {
  'kubernetes:apps/v1:Deployment': ['spec.selector'],
  'kubernetes:rbac.authorization.k8s.io/v1:RoleBinding': ['roleRef'],
  'kubernetes:core/v1:Secret': ['type'],
};
const IDENTITY = ['apiVersion', 'kind', 'metadata.name', 'metadata.namespace'];

/** Options that a provider needs, so that a change of these fields does not replace the object. */
const MUTABLE_ON_REQUEST: Readonly<
  Record<string, { readonly option: string; readonly fields: readonly string[] }>
> = {
  'kubernetes:core/v1:ConfigMap': { option: 'enableConfigMapMutable', fields: ['data', 'binaryData'] },
  'kubernetes:core/v1:Secret': { option: 'enableSecretMutable', fields: ['data', 'stringData'] },
};

/**
 * The operation for a resource, from the state alone: the cluster's values count after a refresh.
 * `inputs` are sealed like the state's.
 */
export function planStep(
  old: ResourceState | undefined,
  next: Pick<Registration, 'type' | 'ignoreChanges'>,
  inputs: Properties,
  provider: Properties,
): Step {
  if (old === undefined) return { op: 'create' };
  const wanted = next.ignoreChanges.reduce(
    (each: Properties, path) => withValueAt(each, path, valueAt(old.inputs, path)),
    inputs,
  );
  if (changedPaths(old.inputs, wanted).length === 0) return { op: 'same' };
  const before = old.live === undefined ? old.inputs : pruned(old.live, old.inputs);
  const paths = changedPaths(canonical(next.type, before), canonical(next.type, wanted)).filter(
    (path) => !next.ignoreChanges.some((ignored) => path === ignored || path.startsWith(`${ignored}.`)),
  );
  if (paths.length === 0) return { op: 'same' };
  const onRequest = MUTABLE_ON_REQUEST[next.type];
  const fixed = [
    ...IDENTITY,
    ...(IMMUTABLE[next.type] ?? []),
    ...(onRequest !== undefined && String(provider[onRequest.option]) !== 'true' ? onRequest.fields : []),
  ];
  const isFixed = (path: string) =>
    fixed.some((each) => path === each || path.startsWith(`${each}.`) || path.startsWith(`${each}[`));
  return { op: paths.some(isFixed) ? 'replace' : 'update', paths };
}

/**
 * Kinds that the provider knows are compared as their API server would write them: without empty
 * values.
 */
function canonical(type: string, value: unknown): unknown {
  return /^kubernetes:([a-z]+|[a-z.]+\.k8s\.io)\/v\d/.test(type) &&
    !type.includes('x-k8s.io') &&
    !type.includes('gateway.')
    ? withoutEmpty(value)
    : value;
}

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (!isRecord(value)) return value;
  const kept = Object.entries(value)
    .map(([key, each]) => [key, withoutEmpty(each)] as const)
    .filter(([, each]) => each !== undefined && !isEmpty(each));
  return Object.fromEntries(kept);
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isRecord(value) && Object.keys(value).length === 0;
}

/** Paths at which two values differ, as deep as both have nested values. */
export function changedPaths(before: unknown, after: unknown, at = ''): string[] {
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((each, index) => changedPaths(each, after[index], `${at}[${index}]`));
  }
  if (isRecord(before) && isRecord(after)) {
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) =>
      changedPaths(before[key], after[key], at === '' ? key : `${at}.${key}`),
    );
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [at];
}

/** The parts of a value that a shape has as well: elements of lists by index. */
export function pruned(value: unknown, shape: unknown): unknown {
  if (Array.isArray(value) && Array.isArray(shape)) {
    return value.slice(0, shape.length).map((each, at) => pruned(each, shape[at]));
  }
  if (!isRecord(value) || !isRecord(shape)) return value;
  const shared = Object.keys(value).filter((key) => key in shape);
  return Object.fromEntries(shared.map((key) => [key, pruned(value[key], shape[key])]));
}

/** The value at a path of keys, e.g. `spec.replicas`. */
export function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce((each: unknown, key) => (isRecord(each) ? each[key] : undefined), value);
}

/** A copy with another value at the path; without the key where that is undefined. */
export function withValueAt(value: Properties, path: string, next: unknown): Properties {
  const [key = '', ...rest] = path.split('.');
  const { [key]: inner, ...others } = value;
  if (rest.length > 0) {
    return { ...others, [key]: withValueAt(isRecord(inner) ? inner : {}, rest.join('.'), next) };
  }
  return next === undefined ? others : { ...others, [key]: next };
}

/** An order in which each resource precedes its dependencies. */
export function deletionOrder(resources: readonly ResourceState[]): ResourceState[] {
  const left = new Map(resources.map((each) => [each.urn, each]));
  const order: ResourceState[] = [];
  while (left.size > 0) {
    const needed = new Set(
      [...left.values()].flatMap(({ urn, needs }) => needs.filter((need) => need !== urn)),
    );
    const free = [...left.values()].filter(({ urn }) => !needed.has(urn));
    if (free.length === 0) throw new Error(`resources need each other: ${[...left.keys()].join(', ')}`);
    for (const each of free) {
      order.push(each);
      left.delete(each.urn);
    }
  }
  return order;
}
