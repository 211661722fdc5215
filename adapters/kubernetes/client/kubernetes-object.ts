import type { Repetition } from './exchange.ts';

/** The objects of one kind in one namespace. */
export interface Collection {
  /** Path on the API server, e.g. `/api/v1/namespaces/agentweaver/services`. */
  readonly path: string;
  /** For messages, e.g. `services`. */
  readonly plural: string;
}

export interface Kind {
  /** None for the core group. */
  readonly group?: string;
  readonly version: string;
  readonly plural: string;
}

export const SERVICES: Kind = { version: 'v1', plural: 'services' };
export const PODS: Kind = { version: 'v1', plural: 'pods' };
export const RESOURCE_QUOTAS: Kind = { version: 'v1', plural: 'resourcequotas' };
export const VOLUME_CLAIMS: Kind = { version: 'v1', plural: 'persistentvolumeclaims' };
export const HTTP_ROUTES: Kind = { group: 'gateway.networking.k8s.io', version: 'v1', plural: 'httproutes' };

export function collection({ group, version, plural }: Kind, namespace: string): Collection {
  const api = group === undefined ? `/api/${version}` : `/apis/${group}/${version}`;
  return { path: `${api}/namespaces/${encodeURIComponent(namespace)}/${plural}`, plural };
}

/** Fields of every object from the API server. */
export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly {
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
  }[];
}

/** The API server's response in place of an object. */
export interface Status {
  readonly kind: 'Status';
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: { readonly retryAfterSeconds?: number };
  readonly metadata?: { readonly continue?: string };
}

export type JsonPatchOperation =
  | { readonly op: 'test' | 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'copy' | 'move'; readonly from: string; readonly path: string }
  | { readonly op: 'remove'; readonly path: string };

/** A JSON pointer to a label or an annotation. */
export function pointer(...parts: readonly string[]): string {
  return parts.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

const DECIMAL = /^[1-9]\d*$/;

/**
 * Whether one `resourceVersion` is earlier than another. Within a resource type they are decimal
 * numbers that grow with every write (KEP-5504; before it, as etcd revisions). Other values sort
 * first.
 */
export function isEarlier(one: string, other: string): boolean {
  if (!DECIMAL.test(one) || !DECIMAL.test(other)) return !DECIMAL.test(one) && DECIMAL.test(other);
  return one.length !== other.length ? one.length < other.length : one < other;
}

/** One request to the API server. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** For messages: the verb and the object. */
  readonly what: string;
  readonly repetition: Repetition;
  readonly accept?: string;
  readonly type?: string;
  readonly body?: unknown;
}
