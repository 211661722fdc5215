import { API_SERVER_PORT, type BedPlan, INSIDE } from './bed-plan.ts';

/** Name of the image in every pod that holds its namespaces. */
export const PAUSE_IMAGE = 'porthole.test/pause:1';

export const GATEWAY_PORTS = { http: 80, https: 443 } as const;

/** Where Debian puts the CNI plugins. */
export const CNI_PLUGINS = '/usr/lib/cni';

/** There are none, but kubelet and controller manager make the folder for them; by default below `/usr`. */
export const VOLUME_PLUGINS = '/run/volume-plugins';

/** Kernel settings that kubelet insists on. They belong to the whole host, so the bed shows it files in their place. */
export const KERNEL_SETTINGS = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
} as const;

/**
 * What the bed shows in the place of the host's `/etc/hosts`. Container runtimes forward a port to `localhost` by name, so without
 * the second line a server that listens on IPv6 alone would not be reached; not every machine's own file has it.
 */
const HOSTS = '127.0.0.1 localhost\n::1 localhost\n';

export function apiServerUrl(bed: BedPlan): string {
  return `https://${bed.nodeAddress}:${API_SERVER_PORT}`;
}

/** Content of every configuration file, by its name in the run folder's `config`. */
export function configurations(bed: BedPlan): Record<string, string> {
  return {
    'containerd.toml': containerd(),
    'cni/10-pods.conflist': JSON.stringify(podNetwork(bed)),
    'kubelet.json': JSON.stringify(kubelet(bed)),
    'proxy.json': JSON.stringify(proxy(bed)),
    'traefik.yaml': JSON.stringify(traefik(bed)),
    Corefile: corefile(bed),
    hosts: HOSTS,
  };
}

function containerd(): string {
  return `version = 2
root = "${INSIDE.run}/containerd"
state = "/run/containerd"

[grpc]
address = "${INSIDE.run}/containerd.sock"

[plugins."io.containerd.internal.v1.opt"]
path = "/run/containerd-opt"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "${PAUSE_IMAGE}"
# A bed may lack CAP_SYS_RESOURCE, without which no process may lower its score.
restrict_oom_score_adj = true
disable_apparmor = true

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "${CNI_PLUGINS}"
conf_dir = "${INSIDE.run}/config/cni"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
`;
}

/**
 * Each pod on a link of its own, routed by the node. On a bridge, answers of a Service's pod to a neighbour would
 * pass beside the node's address translation.
 */
function podNetwork(bed: BedPlan): object {
  const ranges = [[{ subnet: bed.podRange }]];
  const ipam = { type: 'host-local', ranges, routes: [{ dst: '0.0.0.0/0' }], dataDir: '/run/cni' };
  return {
    cniVersion: '0.4.0',
    name: 'pods',
    plugins: [{ type: 'ptp', ipMasq: false, ipam }],
  };
}

function kubelet(bed: BedPlan): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: bed.nodeAddress,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: `${INSIDE.run}/pki/ca.crt` },
    },
    authorization: { mode: 'Webhook' },
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${bed.cgroup}`,
    clusterDNS: [bed.nodeAddress],
    clusterDomain: 'cluster.local',
    containerRuntimeEndpoint: `unix://${INSIDE.run}/containerd.sock`,
    // Nothing of the host's fullness counts: no eviction, no image collection.
    evictionHard: Object.fromEntries(
      ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available'].map((s) => [
        s,
        '0%',
      ]),
    ),
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    failSwapOn: false,
    failCgroupV1: false,
    healthzBindAddress: '127.0.0.1',
    localStorageCapacityIsolation: false,
    makeIPTablesUtilChains: false,
    maxPods: 200,
    resolvConf: '',
    serializeImagePulls: false,
    volumePluginDir: VOLUME_PLUGINS,
  };
}

function proxy(bed: BedPlan): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    clientConnection: { kubeconfig: `${INSIDE.run}/config/proxy.kubeconfig` },
    clusterCIDR: bed.podRange,
    // The host's connection table is not the bed's to size.
    conntrack: { maxPerCore: 0 },
    healthzBindAddress: '127.0.0.1:10256',
    hostnameOverride: bed.nodeName,
    metricsBindAddress: '127.0.0.1:10249',
    // Its default of one second is what a new endpoint would wait.
    nftables: { minSyncPeriod: '50ms' },
  };
}

function traefik(bed: BedPlan): object {
  return {
    global: { checkNewVersion: false, sendAnonymousUsage: false },
    log: { level: 'INFO' },
    entryPoints: {
      http: { address: `${bed.nodeAddress}:${GATEWAY_PORTS.http}` },
      https: { address: `${bed.nodeAddress}:${GATEWAY_PORTS.https}` },
    },
    providers: {
      // Its default of two seconds is what a new route would wait.
      providersThrottleDuration: '50ms',
      kubernetesGateway: { statusAddress: { ip: bed.nodeAddress } },
    },
  };
}

function corefile(bed: BedPlan): string {
  return `.:53 {
  bind ${bed.nodeAddress}
  errors
  kubernetes cluster.local in-addr.arpa {
    kubeconfig ${INSIDE.run}/config/dns.kubeconfig
    ttl 1
  }
}
`;
}
