import { API_SERVER_PORT, type BedPlan, INSIDE } from './bed-plan.ts';
import { apiServerUrl, VOLUME_PLUGINS } from './configurations.ts';
import type { Component } from './machine-plan.ts';
import { buildName } from './program-cache.ts';
import { COREDNS, KUBE, type Program, TRAEFIK } from './programs.ts';

const config = (file: string): string => `${INSIDE.run}/config/${file}`;
const pki = (file: string): string => `${INSIDE.run}/pki/${file}`;

function inside(program: Program): string {
  return `${INSIDE.programs}/${buildName(program)}`;
}

/** Every process of the bed: its arguments, and what must be ready before it. */
export function components(bed: BedPlan, imageFiles: readonly string[]): readonly Component[] {
  const imports = imageFiles.map((file) => importImage(file));
  return [
    etcd(),
    containerd(),
    ...imports,
    apiServer(bed),
    gatewayDefinitions(),
    objects(),
    controllerManager(),
    scheduler(),
    { ...kubelet(bed), after: ['kube-apiserver', ...imports.map(({ name }) => name)] },
    proxy(),
    traefik(),
    coredns(),
  ];
}

function kube(name: string, args: readonly string[]): Pick<Component, 'name' | 'argv' | 'kind'> {
  return { name, argv: [`${inside(KUBE)}/kube`, name, ...args], kind: 'service' };
}

/** Its data lie in memory and are never flushed: they live as long as the bed. */
function etcd(): Component {
  const args = [
    '--data-dir=/run/etcd',
    '--unsafe-no-fsync',
    '--quota-backend-bytes=2147483648',
    '--auto-compaction-retention=1h',
    '--listen-client-urls=http://127.0.0.1:2379',
    '--advertise-client-urls=http://127.0.0.1:2379',
    '--listen-peer-urls=http://127.0.0.1:2380',
    '--log-level=warn',
  ];
  return { ...kube('etcd', args), after: [], ready: { kind: 'http', url: 'http://127.0.0.1:2379/health' } };
}

function containerd(): Component {
  return {
    name: 'containerd',
    argv: ['containerd', `--config=${config('containerd.toml')}`],
    kind: 'service',
    after: [],
    ready: { kind: 'socket', path: `${INSIDE.run}/containerd.sock` },
  };
}

function importImage(file: string): Component {
  const socket = `--address=${INSIDE.run}/containerd.sock`;
  return {
    name: `import-${file}`,
    argv: ['ctr', socket, '--namespace=k8s.io', 'images', 'import', `${INSIDE.run}/images/${file}`],
    kind: 'task',
    after: ['containerd'],
  };
}

function apiServer(bed: BedPlan): Component {
  const args = [
    '--etcd-servers=http://127.0.0.1:2379',
    `--bind-address=${bed.nodeAddress}`,
    `--advertise-address=${bed.nodeAddress}`,
    `--secure-port=${API_SERVER_PORT}`,
    `--tls-cert-file=${pki('apiserver.crt')}`,
    `--tls-private-key-file=${pki('apiserver.key')}`,
    `--token-auth-file=${pki('tokens.csv')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction,ResourceQuota,ValidatingAdmissionPolicy',
    `--service-cluster-ip-range=${bed.serviceRange}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${pki('service-accounts.pub')}`,
    `--service-account-signing-key-file=${pki('service-accounts.key')}`,
    `--kubelet-client-certificate=${pki('kubelet-client.crt')}`,
    `--kubelet-client-key=${pki('kubelet-client.key')}`,
    '--kubelet-preferred-address-types=InternalIP',
  ];
  const url = `${apiServerUrl(bed)}/readyz`;
  return {
    ...kube('kube-apiserver', args),
    after: ['etcd'],
    ready: { kind: 'http', url, caFile: pki('ca.crt') },
  };
}

function apply(name: string, after: string, path: string): Component {
  const flags = [
    `--kubeconfig=${config('admin.kubeconfig')}`,
    `--cache-dir=${INSIDE.scratch}/kubectl`,
    '--server-side',
    '--validate=false',
    `--filename=${path}`,
  ];
  return { name, argv: [`${inside(KUBE)}/kube`, 'kubectl', 'apply', ...flags], kind: 'task', after: [after] };
}

const gatewayDefinitions = (): Component =>
  apply('gateway-definitions', 'kube-apiserver', `${inside(TRAEFIK)}/gateway-crds`);

const objects = (): Component => apply('objects', 'gateway-definitions', config('objects.json'));

function controllerManager(): Component {
  const args = [
    `--kubeconfig=${config('controller-manager.kubeconfig')}`,
    '--bind-address=127.0.0.1',
    '--leader-elect=false',
    // One user a controller; at the default rate their tokens alone would take two seconds.
    '--use-service-account-credentials',
    '--kube-api-qps=200',
    '--kube-api-burst=400',
    `--service-account-private-key-file=${pki('service-accounts.key')}`,
    `--root-ca-file=${pki('ca.crt')}`,
    '--enable-hostpath-provisioner',
    `--flex-volume-plugin-dir=${VOLUME_PLUGINS}`,
  ];
  return { ...kube('kube-controller-manager', args), after: ['kube-apiserver'] };
}

function scheduler(): Component {
  const args = [
    `--kubeconfig=${config('scheduler.kubeconfig')}`,
    '--bind-address=127.0.0.1',
    '--leader-elect=false',
  ];
  return { ...kube('kube-scheduler', args), after: ['kube-apiserver'] };
}

function kubelet(bed: BedPlan): Omit<Component, 'after'> {
  return kube('kubelet', [
    `--config=${config('kubelet.json')}`,
    `--kubeconfig=${config('kubelet.kubeconfig')}`,
    `--hostname-override=${bed.nodeName}`,
    `--node-ip=${bed.nodeAddress}`,
  ]);
}

function proxy(): Component {
  return { ...kube('kube-proxy', [`--config=${config('proxy.json')}`]), after: ['kube-apiserver'] };
}

/** The Gateway. It starts when its kinds exist: their absence would cost it seconds of waiting. */
function traefik(): Component {
  return {
    name: 'traefik',
    argv: [`${inside(TRAEFIK)}/traefik`, `--configFile=${config('traefik.yaml')}`],
    env: { KUBECONFIG: config('gateway.kubeconfig') },
    kind: 'service',
    after: ['objects'],
  };
}

function coredns(): Component {
  return {
    name: 'coredns',
    argv: [`${inside(COREDNS)}/coredns`, '-conf', config('Corefile')],
    kind: 'service',
    after: ['objects'],
  };
}
