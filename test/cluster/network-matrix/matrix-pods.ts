/** The pods of the matrix: each listens on its ports, and connects to others. */
import { NETWORK_LABELS, SANDBOX_POD_LABELS } from '#constructs/names.ts';
import { componentLabels } from '../../../infra/labels.ts';
import { BUSYBOX_IMAGE } from '../fixture/fixture-images.ts';

export interface MatrixNames {
  readonly previews: string;
  readonly gateway: string;
  readonly functions: string;
  /** Previews of a second installation, which has no broker. */
  readonly direct: string;
}

/** Addresses that the node gets: public, private, and that of clouds' metadata services. */
export const NODE_STAND_INS = {
  internet: '192.88.99.9',
  database: '198.51.100.5',
  metadata: '169.254.169.254',
} as const;

export const GATEWAY_LABELS = { app: 'gateway' } as const;

interface MatrixPod {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ports?: readonly number[];
}

/** Sources, and destinations other than the sources: a pod reaches itself past all policies. */
export function matrixPods(
  { previews, gateway, functions, direct }: MatrixNames,
  dns: string,
): readonly MatrixPod[] {
  const own = (
    name: string,
    component: Parameters<typeof componentLabels>[0],
    ports?: readonly number[],
  ) => ({
    name,
    namespace: functions,
    labels: componentLabels(component),
    ...(ports !== undefined && { ports }),
  });
  return [
    { name: 'sandbox', namespace: previews, labels: SANDBOX_POD_LABELS },
    { name: 'other-sandbox', namespace: previews, labels: SANDBOX_POD_LABELS, ports: [2790, 2791, 3000] },
    { name: 'direct', namespace: direct, labels: { ...SANDBOX_POD_LABELS, ...NETWORK_LABELS } },
    own('functions', 'functions'),
    own('other-functions', 'functions', [8787, 8788]),
    own('jobs', 'reaper'),
    own('broker', 'broker'),
    own('other-broker', 'broker', [8789]),
    own('browsers', 'browsers'),
    own('other-browsers', 'browsers', [8790]),
    { name: 'gateway', namespace: gateway, labels: GATEWAY_LABELS, ports: [443] },
    { name: dns, namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' }, ports: [53] },
  ];
}

export function podObject({ name, namespace, labels, ports = [] }: MatrixPod): object {
  const listen = ports.map((port) => `httpd -p ${port}; `).join('');
  return busyboxPod({ name, namespace, labels }, `${listen}exec sleep 3600`, {});
}

/** A pod on the node's network that serves the stand-ins, and takes their addresses with it. */
export function nodeStandIns(namespace: string): object {
  const { internet, database, metadata } = NODE_STAND_INS;
  const addresses = (verb: string) =>
    [internet, database, metadata].map((each) => `ip address ${verb} ${each}/32 dev lo`).join('; ');
  const listen = [`${internet}:443`, `${database}:5432`, `${metadata}:80`].map((at) => `httpd -p ${at}`);
  const script = `${addresses('replace')}; trap '${addresses('del')}; exit' TERM; ${listen.join('; ')}; sleep 3600 & wait`;
  return busyboxPod({ name: 'node-stand-ins', namespace, labels: {} }, script, {
    hostNetwork: true,
    terminationGracePeriodSeconds: 5,
  });
}

function busyboxPod(
  metadata: Pick<MatrixPod, 'name' | 'namespace' | 'labels'>,
  script: string,
  spec: { readonly hostNetwork?: true; readonly terminationGracePeriodSeconds?: number },
): object {
  const securityContext = spec.hostNetwork === true ? { capabilities: { add: ['NET_ADMIN'] } } : {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      ...spec,
      containers: [{ name: 'pod', image: BUSYBOX_IMAGE, command: ['sh', '-c', script], securityContext }],
    },
  };
}
