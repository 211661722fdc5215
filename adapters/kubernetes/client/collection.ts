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
export const VOLUME_CLAIMS: Kind = { version: 'v1', plural: 'persistentvolumeclaims' };
export const HTTP_ROUTES: Kind = { group: 'gateway.networking.k8s.io', version: 'v1', plural: 'httproutes' };

export function collection({ group, version, plural }: Kind, namespace: string): Collection {
  const api = group === undefined ? `/api/${version}` : `/apis/${group}/${version}`;
  return { path: `${api}/namespaces/${encodeURIComponent(namespace)}/${plural}`, plural };
}
