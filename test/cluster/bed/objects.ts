import { GATEWAY_ZONE } from './bed-plan.ts';
import type { Certificate } from './certificate-authority.ts';
import { GATEWAY_PORTS } from './configurations.ts';
import { KUBELET_CLIENT, USERS } from './users.ts';

/** Namespace and name of the Gateway that every bed has; routes of all namespaces may attach to it. */
export const BED_GATEWAY = { namespace: 'porthole-bed', name: 'bed' } as const;

export const GATEWAY_CLASS = 'traefik';

/** The default StorageClass: folders on the node, opened to every user. */
export const STORAGE_CLASS = 'standard';

const GATEWAY_API = 'gateway.networking.k8s.io';
const RBAC_API = 'rbac.authorization.k8s.io';
const CERTIFICATE_SECRET = 'gateway-tls';
const READ = ['get', 'list', 'watch'];

/** What a bed has from the start, as one list to apply. */
export function objects(gatewayCertificate: Certificate): object {
  const items = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: BED_GATEWAY.namespace } },
    storageClass(),
    ...allow(KUBELET_CLIENT, 'system:kubelet-api-admin'),
    ...allow(USERS.gateway.user, 'porthole:gateway', gatewayRules),
    ...allow(USERS.dns.user, 'porthole:dns', dnsRules),
    gatewayClass(),
    certificateSecret(gatewayCertificate),
    gateway(),
  ];
  return { apiVersion: 'v1', kind: 'List', items };
}

const dnsRules = [
  { apiGroups: [''], resources: ['services', 'pods', 'namespaces'], verbs: READ },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
];

const gatewayRules = [
  { apiGroups: [''], resources: ['namespaces', 'services', 'secrets', 'configmaps'], verbs: READ },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
  { apiGroups: [GATEWAY_API], resources: ['*'], verbs: READ },
  {
    apiGroups: [GATEWAY_API],
    resources: ['gatewayclasses', 'gateways', 'httproutes', 'grpcroutes', 'backendtlspolicies'].map(
      (kind) => `${kind}/status`,
    ),
    verbs: ['update'],
  },
];

/** Gives a user a role, which is made from rules where there are any and else is there. */
function allow(user: string, role: string, rules?: readonly object[]): object[] {
  const binding = {
    apiVersion: `${RBAC_API}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: user },
    roleRef: { apiGroup: RBAC_API, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: RBAC_API, kind: 'User', name: user }],
  };
  if (rules === undefined) return [binding];
  const made = { apiVersion: `${RBAC_API}/v1`, kind: 'ClusterRole', metadata: { name: role }, rules };
  return [made, binding];
}

function storageClass(): object {
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: STORAGE_CLASS, annotations },
    provisioner: 'kubernetes.io/host-path',
  };
}

function gatewayClass(): object {
  return {
    apiVersion: `${GATEWAY_API}/v1`,
    kind: 'GatewayClass',
    metadata: { name: GATEWAY_CLASS },
    spec: { controllerName: 'traefik.io/gateway-controller' },
  };
}

function certificateSecret({ certificate, key }: Certificate): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: CERTIFICATE_SECRET, namespace: BED_GATEWAY.namespace },
    type: 'kubernetes.io/tls',
    stringData: { 'tls.crt': certificate, 'tls.key': key },
  };
}

function gateway(): object {
  const allowedRoutes = { namespaces: { from: 'All' } };
  const hostname = `*.${GATEWAY_ZONE}`;
  const listeners = [
    { name: 'http', protocol: 'HTTP', port: GATEWAY_PORTS.http, hostname, allowedRoutes },
    {
      name: 'https',
      protocol: 'HTTPS',
      port: GATEWAY_PORTS.https,
      hostname,
      allowedRoutes,
      tls: { mode: 'Terminate', certificateRefs: [{ name: CERTIFICATE_SECRET }] },
    },
  ];
  return {
    apiVersion: `${GATEWAY_API}/v1`,
    kind: 'Gateway',
    metadata: BED_GATEWAY,
    spec: { gatewayClassName: GATEWAY_CLASS, listeners },
  };
}
