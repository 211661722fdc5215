import { engineAddress } from '#adapters/docker/engine-address.ts';
import { readMachineProxies } from '#adapters/egress/machine-proxies.ts';
import { SHIPPED_IMAGES } from '#core/images/image-catalogue.ts';
import { endpointOf } from '#core/network/network-host.ts';
import { accessKeys, archiveCredentials, isOnOneMachine } from '#protocol/settings/contradictions.ts';
import { DOCKER_IMAGE, type Environment, podSettings } from '#protocol/settings/environment-schema.ts';
import { readEnvironment } from '#protocol/settings/read-environment.ts';
import type { NetworkMode } from '#protocol/settings/shared-values.ts';
import { collectorOf, collectorProblems, headerValues } from './collector.ts';
import { machineMemory, withDefaults } from './default-quotas.ts';

/** Read once at the start, frozen, and passed down. `EnvironmentSchema` describes each setting. */
export type Config = Readonly<ReturnType<typeof shape>>;
export type ClusterOptions = Config['cluster'];
export type DockerOptions = NonNullable<Config['docker']>;

/** @throws ConfigError naming every problem at once */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const problems = [...engineProblems(environment), ...collectorProblems(environment)];
  return Object.freeze(shape(readEnvironment(environment, problems)));
}

/** `DOCKER_HOST` is set for other programs too, so it is only checked with this provider. */
function engineProblems({
  PORTHOLE_PROVIDER: provider,
  DOCKER_HOST: host,
}: Readonly<Record<string, string | undefined>>): string[] {
  if (provider !== 'docker') return [];
  try {
    engineAddress(host);
    return [];
  } catch (error) {
    return [`DOCKER_HOST: ${(error as Error).message}`];
  }
}

const MIB = 1_048_576;

function shape(env: Environment) {
  const size = {
    cpu: env.PORTHOLE_SANDBOX_CPUS,
    memoryMb: env.PORTHOLE_SANDBOX_MEMORY_MIB,
    diskMb: env.PORTHOLE_SANDBOX_DISK_MIB,
  };
  return {
    port: env.PORT,
    host: env.HOST,
    dataDir: env.PORTHOLE_DATA_DIR,
    provider: env.PORTHOLE_PROVIDER,
    /** If sandboxes or previews are in a cluster. */
    cluster: Object.freeze({
      sandboxImage: env.PORTHOLE_SANDBOX_IMAGE,
      pods: {
        ...env.PORTHOLE_SANDBOX_POD,
        ...podSettings((variable) => env[variable]),
        hostUsers: env.PORTHOLE_SANDBOX_HOST_USERS,
      },
      guestReach: env.PORTHOLE_GUEST_REACH,
      size,
      warmPool: env.PORTHOLE_WARM_POOL,
      warmPoolsByImage: env.PORTHOLE_WARM_POOLS_BY_IMAGE,
      listener: env.PORTHOLE_GATEWAY_LISTENER,
      gatewayKind: env.PORTHOLE_GATEWAY_KIND,
      probeUrl: env.PORTHOLE_GATEWAY_PROBE === undefined ? undefined : new URL(env.PORTHOLE_GATEWAY_PROBE),
      probeCa: env.PORTHOLE_GATEWAY_CA,
      serviceKind: env.PORTHOLE_GATEWAY_SERVICE_KIND,
      publicPort: env.PORTHOLE_GATEWAY_PORT,
    }),
    /** Its only user is `local`, on the user's own machine. */
    hasOneUser: hasOneUser(env),
    quotas: {
      ...withDefaults(env.PORTHOLE_QUOTAS, hasOneUser(env) ? machineMemory() : undefined),
      budgets: env.PORTHOLE_BUDGETS,
    },
    requestLimits: env.PORTHOLE_REQUEST_LIMITS,
    network: Object.freeze({
      default: env.PORTHOLE_NETWORK_DEFAULT ?? usualNetwork(env),
      widest: env.PORTHOLE_NETWORK_WIDEST,
      permitted: env.PORTHOLE_NETWORK_PRIVATE_ALLOW,
      proxies: readMachineProxies(env),
    }),
    webhookAllow: webhookAllow(env),
    images: env.PORTHOLE_IMAGES ?? SHIPPED_IMAGES,
    /** When sandboxes are stopped and destroyed, in milliseconds. */
    life: Object.freeze({
      idle: env.SANDBOX_IDLE_TIMEOUT_MINUTES * 60_000,
      retention: env.SANDBOX_RETENTION_HOURS * 3_600_000,
    }),
    /** Limits of what a caller may write at once, in bytes. */
    uploads: Object.freeze({
      file: env.PORTHOLE_MAX_FILE_MIB * MIB,
      archive: env.PORTHOLE_MAX_ARCHIVE_MIB === undefined ? Infinity : env.PORTHOLE_MAX_ARCHIVE_MIB * MIB,
    }),
    /** Of all checkpoints of one owner. */
    checkpointBytes: env.PORTHOLE_CHECKPOINTS_MIB * MIB,
    autoCheckpoints: env.PORTHOLE_AUTO_CHECKPOINTS,
    /** Each is the first words of commands. */
    checkpointCommands: env.PORTHOLE_CHECKPOINT_COMMANDS,
    runSharing: env.PORTHOLE_RUN_SHARING,
    pool: Object.freeze({
      warmTarget: env.WARM_POOL_TARGET,
      refreshInterval: env.WARM_POOL_REFRESH_INTERVAL,
      maxInstances: env.WARM_POOL_MAX_INSTANCES,
      scaleBatchSize: env.WARM_POOL_SCALE_BATCH_SIZE,
    }),
    /** Sandboxes as processes of this machine. */
    local: Object.freeze({
      defaultSize: size,
      isolation: env.PORTHOLE_ISOLATION === 'auto' ? undefined : env.PORTHOLE_ISOLATION,
      runsc: env.PORTHOLE_RUNSC,
      keepsMemory: env.PORTHOLE_KEEP_MEMORY,
      userNamespaces: env.PORTHOLE_SANDBOX_USER_NAMESPACES,
    }),
    docker:
      env.PORTHOLE_PROVIDER === 'docker'
        ? Object.freeze({
            address: engineAddress(env.DOCKER_HOST, Boolean(env.DOCKER_TLS_VERIFY)),
            certificates: env.DOCKER_CERT_PATH === '' ? undefined : env.DOCKER_CERT_PATH,
            image: env.PORTHOLE_SANDBOX_IMAGE ?? DOCKER_IMAGE,
            limits: { ...size, pids: env.PORTHOLE_SANDBOX_PIDS },
            network: env.PORTHOLE_SANDBOX_NETWORK,
          })
        : undefined,
    /** How processes in sandboxes of a cluster call back; undefined: they cannot. */
    channel:
      env.PORTHOLE_CHANNEL_PORT === undefined || env.PORTHOLE_CHANNEL_URL === undefined
        ? undefined
        : { port: env.PORTHOLE_CHANNEL_PORT, url: new URL(env.PORTHOLE_CHANNEL_URL) },
    /** The broker of sandboxes of a cluster; undefined: they have a network or none. */
    broker: env.PORTHOLE_BROKER_URL === undefined ? undefined : endpointOf(new URL(env.PORTHOLE_BROKER_URL)),
    /** PEM files with which the host speaks TLS; undefined: plain HTTP. */
    tls:
      env.PORTHOLE_TLS_CERT === undefined || env.PORTHOLE_TLS_KEY === undefined
        ? undefined
        : { cert: env.PORTHOLE_TLS_CERT, key: env.PORTHOLE_TLS_KEY },
    publicUrl: urlOf(env.PORTHOLE_PUBLIC_URL),
    docsUrl: urlOf(env.PORTHOLE_DOCS_URL),
    feedbackUrl: urlOf(env.PORTHOLE_FEEDBACK_URL),
    trustedProxies: env.PORTHOLE_TRUSTED_PROXIES,
    allowedHosts: env.PORTHOLE_ALLOWED_HOSTS,
    databaseUrl: env.DATABASE_URL,
    serviceKey: env.SANDBOX_API_KEY,
    apiKeys: env.PORTHOLE_API_KEYS ?? {},
    oidc:
      env.OIDC_ISSUER === undefined || env.OIDC_AUDIENCE === undefined
        ? undefined
        : {
            issuer: env.OIDC_ISSUER,
            audience: env.OIDC_AUDIENCE,
            orgClaim: env.OIDC_ORG_CLAIM,
            adminClaim: env.OIDC_ADMIN_CLAIM,
            /** OIDC client for the console's sign-in; undefined: disabled. */
            client:
              env.OIDC_CLIENT_ID === undefined
                ? undefined
                : { id: env.OIDC_CLIENT_ID, secret: env.OIDC_CLIENT_SECRET },
          },
    signingKeys: env.PORTHOLE_SIGNING_KEYS,
    /** Origin of the servers that visit pages; undefined: this machine's browser does. */
    browsers: urlOf(env.PORTHOLE_BROWSERS_URL),
    browser: env.PORTHOLE_BROWSER,
    featuresOff: new Set(env.PORTHOLE_FEATURES_OFF),
    logLevel: env.LOG_LEVEL,
    /** The collector of traces and metrics; undefined: nothing is traced. */
    telemetry: collectorOf(env),
    tracesPreviews: env.PORTHOLE_PREVIEW_TRACES,
    preview: Object.freeze({
      enabled: env.Sandbox__Preview__Enabled,
      zoneSuffix: env.Sandbox__Preview__ZoneSuffix,
      gatewayName: env.Sandbox__Preview__GatewayName,
      gatewayNamespace: env.Sandbox__Preview__GatewayNamespace,
      zones: env.PORTHOLE_ZONES,
      namespace: env.Sandbox__Preview__Namespace,
      upstream: env.Sandbox__Preview__Upstream,
      idleTimeoutMinutes: env.Sandbox__Preview__IdleTimeoutMinutes,
      maxLifetimeHours: env.Sandbox__Preview__MaxLifetimeHours,
      keepAfterRun: env.Sandbox__Preview__KeepAfterRun,
      allowedPortMin: env.Sandbox__Preview__AllowedPortMin,
      allowedPortMax: env.Sandbox__Preview__AllowedPortMax,
      autoApprove: env.Sandbox__Preview__AutoApprove || env.SANDBOX_PREVIEW_AUTO_APPROVE === true,
      access: env.Sandbox__Preview__Access,
      maxAccess: env.Sandbox__Preview__MaxAccess,
      reportContact: env.Sandbox__Preview__ReportContact,
      maxWakesPerLink: env.Sandbox__Preview__MaxWakesPerLink,
      maxWakesPerOwner: env.Sandbox__Preview__MaxWakesPerOwner,
      maxNamesPerOwner: env.Sandbox__Preview__MaxNamesPerOwner,
      maxPerRun: env.Sandbox__Preview__MaxPerRun,
      maxTotal: env.Sandbox__Preview__MaxTotal,
      readyTimeoutSeconds: env.Sandbox__Preview__ReadyTimeoutSeconds,
    }),
    editor: Object.freeze({
      snapshotTtlMs: env.SNAPSHOT_TTL_HOURS * 3_600_000,
      snapshotMaxBytes: env.SNAPSHOT_MAX_BYTES,
      snapshotTotalBytes: env.SNAPSHOT_MAX_TOTAL_BYTES,
      runRetentionMs: env.SNAPSHOT_RUN_RETENTION_DAYS * 86_400_000,
      runTimeoutMs: env.SNAPSHOT_RUN_TIMEOUT_SECONDS * 1_000,
      runMemoryMebibytes: env.SNAPSHOT_RUN_MEMORY_MIB,
    }),
    auditRetentionMs: env.PORTHOLE_AUDIT_RETENTION_DAYS * 86_400_000,
    /** Where workspaces are archived before their sandboxes are destroyed; undefined: nowhere. */
    archive: archiveOptions(env),
    buckets: Object.freeze({
      bindings: env.PORTHOLE_BUCKETS,
      endpoints: env.PORTHOLE_MOUNT_ENDPOINTS,
      credentials:
        accessKeys(env.AWS_ACCESS_KEY_ID, env.AWS_SECRET_ACCESS_KEY) ??
        accessKeys(env.R2_ACCESS_KEY_ID, env.R2_SECRET_ACCESS_KEY),
    }),
  };
}

function urlOf(text: string | undefined): URL | undefined {
  return text === undefined ? undefined : new URL(text);
}

/** No key and no identity provider: every caller is `local`. */
function hasOneUser(env: Environment): boolean {
  const { SANDBOX_API_KEY: key, PORTHOLE_API_KEYS: keys, OIDC_ISSUER: issuer } = env;
  const isOpen = key === undefined && keys === undefined && issuer === undefined;
  return isOpen && isOnOneMachine({ provider: env.PORTHOLE_PROVIDER });
}

/** The one user may call this machine anyway, and tries webhooks with a receiver on it. */
const LOOPBACK = ['localhost', '127.0.0.0/8', '::1/128'];

function webhookAllow(env: Environment) {
  const allowed = env.PORTHOLE_WEBHOOK_ALLOW ?? (hasOneUser(env) ? LOOPBACK : []);
  return Object.freeze({
    hosts: allowed.filter((entry) => !entry.includes('/')),
    ranges: allowed.filter((entry) => entry.includes('/')),
  });
}

/** Sandboxes on a user's own machine need packages; a cluster's default stays unchanged. */
function usualNetwork({
  PORTHOLE_PROVIDER: provider,
  PORTHOLE_NETWORK_WIDEST: widest,
}: Environment): NetworkMode {
  return isOnOneMachine({ provider }) && widest !== 'off' ? 'packages' : 'off';
}

/**
 * Undefined unless both credentials are set: machines often have one of them for other programs.
 */
function archiveOptions(env: Environment) {
  const credentials = archiveCredentials(env);
  const { PORTHOLE_ARCHIVE_BUCKET: bucket, PORTHOLE_ARCHIVE_REGION: region } = env;
  if (bucket === undefined || credentials === undefined) return undefined;
  const endpoint = new URL(env.PORTHOLE_ARCHIVE_ENDPOINT ?? `https://s3.${region}.amazonaws.com`);
  return Object.freeze({ bucket, endpoint, region, credentials });
}

/** Values that must not appear in any log or answer. */
export function secretsOf({ serviceKey, apiKeys, oidc, signingKeys, buckets, archive, telemetry }: Config) {
  const keysOfBuckets = [archive, buckets, ...Object.values(buckets.bindings)];
  return [
    serviceKey,
    ...Object.keys(apiKeys),
    oidc?.client?.secret,
    ...(signingKeys?.keys.map(({ k }) => k) ?? []),
    ...headerValues(telemetry),
    ...keysOfBuckets.map((bucket) => bucket?.credentials?.secretAccessKey),
  ].filter((secret) => secret !== undefined);
}
