import { Refusal } from './refusal.ts';

export interface StoredObject {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    generation: number;
    creationTimestamp: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string }[];
    finalizers?: string[];
  };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

/** The kinds that the double stores, by plural. */
export const KINDS: Readonly<Record<string, { readonly apiVersion: string; readonly kind: string }>> = {
  services: { apiVersion: 'v1', kind: 'Service' },
  pods: { apiVersion: 'v1', kind: 'Pod' },
  persistentvolumeclaims: { apiVersion: 'v1', kind: 'PersistentVolumeClaim' },
  httproutes: { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute' },
};

const LABEL = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;
const HOSTNAME = /^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const QUALIFIED = /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const VALUE = /^$|^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/**
 * @throws Refusal 422 naming the field, like the API server's validation of the objects of previews
 */
export function validate(plural: string, object: StoredObject): void {
  const { name, labels = {}, annotations = {}, ownerReferences = [] } = object.metadata;
  const wrong = (field: string, value: unknown): never => {
    throw new Refusal(
      422,
      'Invalid',
      `${object.kind} "${name}" is invalid: ${field}: Invalid value: ${JSON.stringify(value)}`,
    );
  };
  if (!(plural === 'services' ? LABEL : SUBDOMAIN).test(name)) wrong('metadata.name', name);
  for (const [key, value] of Object.entries(labels)) {
    if (!QUALIFIED.test(key) || typeof value !== 'string' || !VALUE.test(value))
      wrong('metadata.labels', value);
  }
  for (const [key, value] of Object.entries(annotations)) {
    if (!QUALIFIED.test(key) || typeof value !== 'string') wrong('metadata.annotations', value);
  }
  for (const owner of ownerReferences) {
    if (!owner.apiVersion || !owner.kind || !owner.name || !owner.uid)
      wrong('metadata.ownerReferences', owner);
  }
  const spec = object.spec ?? {};
  if (plural === 'services') {
    for (const port of (spec['ports'] ?? []) as { port?: number; targetPort?: number }[]) {
      if (!isPort(port.port)) wrong('spec.ports[0].port', port.port);
      if (!isPort(port.targetPort)) wrong('spec.ports[0].targetPort', port.targetPort);
    }
  }
  if (plural === 'httproutes') {
    for (const hostname of (spec['hostnames'] ?? []) as string[]) {
      if (!HOSTNAME.test(hostname)) wrong('spec.hostnames', hostname);
    }
    const rules = (spec['rules'] ?? []) as { filters?: { type: string }[] }[];
    if (rules.length > 16) wrong('spec.rules', rules.length);
    for (const { filters = [] } of rules) {
      const types = filters.map(({ type }) => type);
      if (new Set(types).size !== types.length) wrong('spec.rules[0].filters', types);
    }
  }
}

function isPort(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65_535;
}
