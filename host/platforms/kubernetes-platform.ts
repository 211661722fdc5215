import { X509Certificate } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { kubeconfigAccess } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import { AgentSandboxProvider } from '#adapters/kubernetes/sandboxes/agent-sandbox-provider.ts';
import { createAgentSandboxPool } from '#adapters/kubernetes/sandboxes/claim-pool.ts';
import { defaultProvider } from '#adapters/kubernetes/sandboxes/claim-state.ts';
import { KubernetesProvider } from '#adapters/kubernetes/sandboxes/kubernetes-provider.ts';
import {
  type ClusterAccess,
  inClusterAccess,
  isInCluster,
} from '#adapters/kubernetes/client/cluster-access.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import { collection, type KubernetesObject, PODS } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { createGatewayProbe, type GatewayProbe } from '#adapters/kubernetes/previews/gateway-probe.ts';
import { createKubernetesPlane } from '#adapters/kubernetes/previews/kubernetes-preview-plane.ts';
import { createPreviewFallback } from '#adapters/kubernetes/previews/preview-fallback.ts';
import { find } from '#adapters/kubernetes/sandboxes/cluster-objects.ts';
import type { ClusterProvider } from '#adapters/kubernetes/sandboxes/cluster-provider.ts';
import type { GuestAccess } from '#adapters/kubernetes/sandboxes/pod-guests.ts';
import { isAtAddress, type Pod } from '#adapters/kubernetes/sandboxes/pod-state.ts';
import { unsupportedMounter } from '#adapters/mounts/mount-failure.ts';
import { type Channel, guestsOf } from '#core/processes/guest.ts';
import { attachPreviews } from '#core/previews/attach-previews.ts';
import { findAsleep } from '#core/previews/asleep-previews.ts';
import { accessOf } from '#core/previews/preview-access.ts';
import type { PreviewPlane } from '#core/previews/preview-plane.ts';
import type { Sandboxes } from '#core/sandboxes/sandbox-provider.ts';
import { noPool, type WarmPoolConfig } from '#core/sandboxes/warm-pool.ts';
import type { GuestKeys } from '#protocol/guest/guest-pod.ts';
import { brokerHeader } from '#protocol/guest/network.ts';
import type { BrokerTokens } from '#protocol/guest/key-set.ts';
import { TrustedProxies } from '#proxy/client-address.ts';
import { endpointOf } from '#core/network/network-host.ts';
import { type ClusterOptions, type Config } from '../config/config.ts';
import { ConfigError } from '#protocol/settings/read-environment.ts';
import { NEEDS_IMAGE, NEEDS_WARM_POOL } from '#protocol/settings/contradictions.ts';
import type { ONE_MACHINE_PROVIDERS } from '#protocol/settings/environment-schema.ts';
import { createSandboxService } from './create-sandbox-service.ts';
import { consoleOrigins } from '../server/known-hosts.ts';
import type { Platform, PlatformDeps } from './platform.ts';

const NO_POOL =
  'WARM_POOL_TARGET has no effect: the provider kubernetes keeps no sandbox ready. Use agent-sandbox, or leave it out.';

/** The SandboxWarmPool of claims that name no image; pods have none. */
export async function openClusterPool(
  provider: Sandboxes['name'],
  config: WarmPoolConfig,
  {
    warmPool,
    ...own
  }: {
    readonly client: KubernetesClient;
    readonly namespace: string;
    readonly warmPool: string | undefined;
  },
): Promise<Pick<Platform, 'pool' | 'warnings'>> {
  if (provider !== 'agent-sandbox' || warmPool === undefined) {
    const warnings = config.warmTarget > 0 ? [NO_POOL] : [];
    return { pool: noPool(config), warnings: () => warnings };
  }
  return { pool: createAgentSandboxPool({ ...own, warmPool, config }), warnings: () => [] };
}

const NO_BUCKETS =
  'sandboxes of a cluster have nothing that mounts buckets: it takes a privileged sidecar or a CSI driver for S3 in their template, with bidirectional mount propagation, and this installation has neither';
const NO_CHANNEL: Channel = { address: () => Promise.resolve(undefined) };

export type ClusterProviderName = Exclude<Config['provider'], (typeof ONE_MACHINE_PROVIDERS)[number]>;

/** A terminating pod has 60 seconds, and needs some after its last answer. */
const POD_DRAIN_MS = 55_000;
const TERMINAL_DRAIN_MS = 5_000;

/**
 * A cluster: sandboxes as pods or claims, previews as routes of its Gateway. Uses the service
 * account in a pod, and `KUBECONFIG` elsewhere.
 */
export async function openKubernetesPlatform(
  { preview: previewSettings, cluster, channel, broker, pool, images, ...config }: Config,
  wanted: ClusterProviderName,
  deps: Omit<PlatformDeps, 'metrics' | 'folder'>,
): Promise<Platform> {
  const { records, guestKeys, brokerTokens, clock, log } = deps;
  if (broker !== undefined && config.databaseUrl === undefined) {
    throw new ConfigError([
      'PORTHOLE_BROKER_URL: needs DATABASE_URL, because the broker is another process and reads the same records',
    ]);
  }
  const access = await clusterAccess();
  const client = createKubernetesClient({ access, now: () => clock.now() });
  try {
    const probe = await gatewayProbe(cluster, log);
    const own = await openProvider(cluster, wanted, pool, {
      client,
      access,
      namespace: previewSettings.namespace,
      guestKeys,
      brokerAccess: broker && brokerAccess(broker, brokerTokens, channel?.url),
    });
    const { sandboxes, guests, provisionAccess } = createSandboxService(deps, {
      provider: own,
      channel: channel === undefined ? NO_CHANNEL : serviceChannel(channel.url),
      images,
      attachPreviews: (id, isRunning, signal) =>
        attachPreviews({ plane, records, previewSettings }, id, isRunning, signal),
    });
    // Loaded on demand: it contains a whole proxy.
    const loopback = previewSettings.enabled
      ? undefined
      : (await import('#adapters/previews/loopback-plane.ts')).createLoopbackPlane({
          maxTotal: previewSettings.maxTotal,
          clock,
          sandboxes,
        });
    const plane: PreviewPlane =
      loopback ??
      createKubernetesPlane({
        client,
        previewSettings,
        frameAncestors: consoleOrigins({ ...config, listenHost: config.host }, config.port),
        visits: config.publicUrl && {
          openUrl: `${config.publicUrl.origin}/open`,
          keys: deps.tokens.ticketKeys,
        },
        clock,
        sandboxes,
        probe,
        listener: cluster.listener,
        gatewayKind: cluster.gatewayKind,
        serviceKind: cluster.serviceKind,
        publicPort: cluster.publicPort,
        guests: guestsOf(guests),
      });
    const { pool: ready, warnings } = await openClusterPool(own.name, pool, {
      client,
      namespace: previewSettings.namespace,
      warmPool: cluster.warmPool,
    });
    return {
      sandboxes,
      mounter: unsupportedMounter(NO_BUCKETS),
      provisionAccess,
      openChannels: () => Promise.resolve(),
      certificatesChanged: () => Promise.resolve(),
      brokersNetwork: () => Promise.resolve(broker !== undefined),
      isAtAddress: (id, address) =>
        isPodAt(id, address, { own, client, namespace: previewSettings.namespace }),
      pool: ready,
      warnings: () => [...warnings(), ...(probe?.problems() ?? [])],
      installationId: `kubernetes:${previewSettings.namespace}`,
      plane,
      gateway: previewSettings.enabled
        ? createPreviewFallback({
            plane,
            records: records.previews,
            asleep: (token) => findAsleep({ records, tokens: deps.tokens, previewSettings }, { token }),
            accessOf: (preview) => accessOf({ records, previewSettings }, preview),
            openPage: config.publicUrl && `${config.publicUrl.origin}/open`,
            log,
            reportContact: previewSettings.reportContact,
            trustedProxies: new TrustedProxies(config.trustedProxies),
          })
        : undefined,
      describe: () =>
        Promise.resolve(
          `${sandboxes.name}, in namespace ${previewSettings.namespace} of ${new URL(access.server).host}`,
        ),
      async software() {
        const { gitVersion } = await client.get<KubernetesObject & { readonly gitVersion: string }>(
          { path: '', plural: 'version' },
          'version',
        );
        return `Kubernetes ${gitVersion.replace(/^v/, '')}`;
      },
      listening: () => undefined,
      drainMs: isInCluster() ? POD_DRAIN_MS : TERMINAL_DRAIN_MS,
      recover: () => Promise.resolve(),
      async close() {
        await loopback?.closeAll();
        await sandboxes.close();
        client.close();
      },
    };
  } catch (error) {
    client.close();
    throw error;
  }
}

/** Read from the API server each time: the address of an ended pod is reused by another pod. */
async function isPodAt(
  sandboxId: string,
  address: string,
  { own, client, namespace }: { own: ClusterProvider; client: KubernetesClient; namespace: string },
): Promise<boolean> {
  const { state, podName } = await own.inspect(sandboxId);
  if (state !== 'running') return false;
  const pod = await find<Pod>(client, collection(PODS, namespace), podName);
  return pod !== undefined && isAtAddress(pod, address);
}

/** In a pod its service account, elsewhere `KUBECONFIG`. */
export async function clusterAccess(): Promise<ClusterAccess> {
  if (isInCluster()) return inClusterAccess();
  return kubeconfigAccess();
}

/** @throws ConfigError if it lacks a setting of this provider */
async function openProvider(
  { sandboxImage, pods, guestReach, size, ...cluster }: ClusterOptions,
  wanted: ClusterProviderName,
  config: Config['pool'],
  {
    guestKeys,
    brokerAccess,
    ...own
  }: {
    readonly client: KubernetesClient;
    readonly access: ClusterAccess;
    readonly namespace: string;
    readonly guestKeys: GuestKeys;
    readonly brokerAccess: GuestAccess['brokerAccess'];
  },
): Promise<ClusterProvider> {
  // Pod addresses are usually unreachable from outside of their cluster.
  const reach = guestReach ?? (isInCluster() ? 'address' : 'forward');
  const guest: GuestAccess = { keys: guestKeys, reach, brokerAccess };
  let name = wanted;
  if (name === 'auto') {
    name = await defaultProvider(own.client);
  }
  if (name === 'agent-sandbox') {
    const { warmPool, warmPoolsByImage } = cluster;
    if (warmPool === undefined) throw new ConfigError([`PORTHOLE_WARM_POOL: ${NEEDS_WARM_POOL}`]);
    const makeRoom = () => createAgentSandboxPool({ ...own, warmPool, config }).makeRoom();
    return new AgentSandboxProvider({ ...own, guest, warmPool, warmPoolsByImage, size, makeRoom });
  }
  if (sandboxImage === undefined) throw new ConfigError([`PORTHOLE_SANDBOX_IMAGE: ${NEEDS_IMAGE}`]);
  return new KubernetesProvider({
    ...own,
    guest,
    image: sandboxImage,
    pod: {
      ...pods,
      cpuLimitMillis: Math.round(size.cpu * 1_000),
      memoryMebibytes: size.memoryMb,
      workspaceMebibytes: size.diskMb,
      brokered: brokerAccess !== undefined,
    },
  });
}

/** How long a resolved address is used, in milliseconds. */
const RESOLVED_MS = 60_000;

/**
 * What guests get to reach the broker. Sandboxes have no DNS, so they get the cluster IPs of the
 * broker and of the channel, which commands call without the proxy.
 */
function brokerAccess(
  { host, port }: NonNullable<Config['broker']>,
  tokens: BrokerTokens,
  channel: URL | undefined,
): NonNullable<GuestAccess['brokerAccess']> {
  const find = async (name: string) => (await lookup(name)).address;
  let found: { readonly until: number; readonly addresses: Promise<[string, ...string[]]> } | undefined;
  const addresses = () => {
    if (found === undefined || found.until < performance.now()) {
      const direct = channel === undefined ? [] : [endpointOf(channel).host];
      const resolved = Promise.all([find(host), ...direct.map(find)]);
      found = { until: performance.now() + RESOLVED_MS, addresses: resolved };
      resolved.catch(() => (found = undefined));
    }
    return found.addresses;
  };
  return async (sandboxId, { name, uid }) => {
    const [address, ...direct] = await addresses();
    return brokerHeader({ host: address, port, token: tokens.sign({ sandboxId, pod: name, uid }), direct });
  };
}

/** @throws ConfigError if it is not a PEM file: Node would trust nothing, without an error */
async function readAuthority(file: string): Promise<string> {
  try {
    const pem = await readFile(file, 'utf8');
    void new X509Certificate(pem);
    return pem;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError([
      `PORTHOLE_GATEWAY_CA: ${file} is not the PEM file of a certificate (${code ?? message})`,
    ]);
  }
}

/** @throws ConfigError if the CA file cannot be read */
async function gatewayProbe(
  { probeUrl, probeCa }: ClusterOptions,
  log: PlatformDeps['log'],
): Promise<GatewayProbe | undefined> {
  if (probeUrl === undefined) return undefined;
  const ca = probeCa === undefined ? undefined : await readAuthority(probeCa);
  return createGatewayProbe({
    ...endpointOf(probeUrl),
    ...(probeUrl.protocol === 'https:' && { tls: { ca } }),
    failed: ({ proxy, problem }) =>
      log.warn({ gateway: probeUrl.host, proxy }, `no preview can be checked: ${problem}`),
  });
}

/**
 * The channel of sandboxes in a cluster: a Service in front of the functions. Sandboxes have no
 * DNS, so they get its cluster IP, which never changes.
 * @param find looks up a name; default: the system's way
 */
export function serviceChannel(
  service: URL,
  find: (name: string) => Promise<string> = async (name) => (await lookup(name)).address,
): Channel {
  return {
    async address() {
      const url = new URL(service);
      const address = await find(endpointOf(url).host);
      url.hostname = address.includes(':') ? `[${address}]` : address;
      return { kind: 'url', url: url.href };
    },
  };
}
