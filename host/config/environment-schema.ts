import { z } from 'zod';
import { DEFAULT_LIMITS } from '#adapters/docker/container-limits.ts';
import { JwksSchema } from '#adapters/auth/key-set.ts';
import { ImageFields, ImageName, toCatalogueImage } from '#handlers/sandboxes/image-routes.ts';
import { MIN_KEY_LENGTH } from '#core/callers.ts';
import { NETWORK_MODES } from '#core/network/network-policy.ts';
import type { Quota } from '#core/sandboxes/sandbox-quotas.ts';
import { BucketsSchema, MountEndpointsSchema } from './buckets-schema.ts';
import { SandboxPodSchema } from '#adapters/kubernetes/sandboxes/sandbox-pod-schema.ts';

export { SandboxPodSchema };

/** Contains what dev servers, git and the `porthole` command need. */
export const DOCKER_IMAGE = 'docker.io/library/node:24-bookworm';

const text = z.string().trim().min(1, 'must not be empty');
const flag = z
  .string()
  .transform((value) => value.trim().toLowerCase())
  .pipe(z.enum(['true', '1', 'yes', 'false', '0', 'no'], 'must be true or false'))
  .transform((value) => value === 'true' || value === '1' || value === 'yes');
const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`);
const json = <T extends z.ZodType>(schema: T) =>
  z
    .string()
    .transform((value, context) => {
      try {
        return JSON.parse(value) as unknown;
      } catch {
        context.addIssue('must be valid JSON');
        return z.NEVER;
      }
    })
    .pipe(schema);
const dnsName = z
  .string()
  .regex(
    /^(?=.{1,200}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/,
    'must be a lower-case DNS name',
  );
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });

const ApiKeys = z.record(
  z.string().min(MIN_KEY_LENGTH, `a key needs at least ${MIN_KEY_LENGTH} characters`),
  z.strictObject({ user: text, org: text, admin: z.boolean().default(false) }),
);

const amount = z.number('must be a number, or null for any amount').min(0, 'must be at least 0');
const wholeAmount = amount.int('must be whole');
const quota = {
  cpu: amount.nullish(),
  memory_mb: wholeAmount.nullish(),
  disk_mb: wholeAmount.nullish(),
};
const OwnQuota = z.strictObject({
  sandboxes: wholeAmount.nullish(),
  runs: wholeAmount.nullish(),
  previews: wholeAmount.nullish(),
  ...quota,
});
/** More than a person manages, and few enough for one machine. */
const DefaultQuota = z.strictObject({
  sandboxes: wholeAmount.nullable().default(10),
  runs: wholeAmount.nullable().default(100),
  // Half of the default for all users, so that one person cannot take all.
  previews: wholeAmount.nullable().default(10),
  ...quota,
});
const QuotasSchema = z
  .strictObject({
    default: DefaultQuota.prefault({}),
    users: z.record(text, OwnQuota).default({}),
  })
  .transform(({ default: common, users }) => ({
    default: toQuota(common),
    users: Object.fromEntries(Object.entries(users).map(([user, own]) => [user, toQuota(own)])),
  }));

/** Omits unset fields: the default applies to them. */
function toQuota({
  sandboxes,
  runs,
  previews,
  cpu,
  memory_mb: memoryMb,
  disk_mb: diskMb,
}: z.infer<typeof OwnQuota>): Quota {
  return {
    ...(sandboxes !== undefined && { sandboxes }),
    ...(runs !== undefined && { runs }),
    ...(previews !== undefined && { previews }),
    ...(cpu !== undefined && { cpu }),
    ...(memoryMb !== undefined && { memoryMb }),
    ...(diskMb !== undefined && { diskMb }),
  };
}

const atLeastOne = z.number('must be a number').int('must be whole').min(1, 'must be at least 1');
const requestLimits = (perOwner: number, total: number, waiting: number) =>
  z
    .strictObject({
      per_owner: atLeastOne.default(perOwner),
      total: atLeastOne.default(total),
      waiting: wholeAmount.default(waiting),
    })
    .prefault({})
    .transform(({ per_owner, ...rest }) => ({ perOwner: per_owner, ...rest }));
/** Streams do not queue: a slot may take an hour to become free. */
const RequestLimitsSchema = z
  .strictObject({
    cheap: requestLimits(32, 256, 512),
    heavy: requestLimits(2, 4, 64),
    stream: requestLimits(128, 10_000, 0),
    wrong_secrets_per_minute: atLeastOne.default(30),
  })
  .transform(({ wrong_secrets_per_minute, ...classes }) => ({
    ...classes,
    wrongSecretsPerMinute: wrong_secrets_per_minute,
  }));

const MODES = 'must be off, packages, allowlist or open';

const ImagesSchema = z
  .record(ImageName, ImageFields)
  .transform((images) => Object.entries(images).map(([name, fields]) => toCatalogueImage(name, fields)));

/**
 * Every variable that Porthole reads, under its exact name. `npm run config` prints it. The
 * reference implementation's keys keep their names, with `__` for `:`.
 */
export const EnvironmentSchema = z.object({
  PORT: whole(0, 65_535)
    .default(8787)
    .describe('Port of the API and of the local preview gateway; 0 picks a free one'),
  HOST: text
    .default('127.0.0.1')
    .describe('Address to listen on; anything but loopback needs a credential to be configured'),
  PORTHOLE_DATA_DIR: text
    .default('.porthole')
    .describe('Folder of the database, the keys and the local sandboxes'),
  PORTHOLE_PROVIDER: z
    .enum(
      ['local', 'docker', 'kubernetes', 'agent-sandbox', 'auto'],
      'must be local, docker, kubernetes, agent-sandbox or auto',
    )
    .default('local')
    .describe(
      'Where sandboxes live: processes on this machine, containers of a Docker engine, pods of a cluster, or claims on its warm pools; auto: agent-sandbox where the cluster has it, else kubernetes',
    ),
  PORTHOLE_SANDBOX_IMAGE: text
    .optional()
    .describe(
      `docker, kubernetes: image of sandboxes that ask for none; required on kubernetes, on docker ${DOCKER_IMAGE} without it`,
    ),
  PORTHOLE_IMAGES: json(ImagesSchema)
    .optional()
    .describe(
      'Images that sandboxes may ask for by name, JSON {name: {reference, description?, languages?, resources?: {cpu?, memory_mb?, disk_mb?}}}; admins may add more. Without it those of images/: multi, node and python',
    ),
  PORTHOLE_SANDBOX_CPUS: z
    .string()
    .regex(/^\d{1,4}(\.\d{1,3})?$/, 'must be a number of cores from 0.1 to 1024')
    .transform(Number)
    .refine((cores) => cores >= 0.1 && cores <= 1_024, 'must be a number of cores from 0.1 to 1024')
    .default(DEFAULT_LIMITS.cpus)
    .describe(
      'local, docker, kubernetes: cores of a sandbox that asks for none; agent-sandbox: as the template of the pool for everybody has them',
    ),
  PORTHOLE_SANDBOX_MEMORY_MIB: whole(64, 16_777_216)
    .default(DEFAULT_LIMITS.memoryMebibytes)
    .describe(
      'local, docker, kubernetes: memory of a sandbox that asks for none, in MiB (local, docker: with its /tmp and home folder); agent-sandbox: as the template has it; nothing is swapped',
    ),
  PORTHOLE_SANDBOX_PIDS: whole(16, 4_194_304)
    .default(DEFAULT_LIMITS.pids)
    .describe('docker: processes and threads of a sandbox'),
  PORTHOLE_SANDBOX_DISK_MIB: whole(16, 16_777_216)
    .default(DEFAULT_LIMITS.diskMebibytes)
    .describe(
      "local, docker, kubernetes: size of /workspace in MiB where none is asked for (local: it counts for quotas alone; docker: where the engine's volumes know quotas, and of a single file everywhere); agent-sandbox: as the template has it",
    ),
  PORTHOLE_SANDBOX_USER_NAMESPACES: flag
    .default(false)
    .describe(
      'local: lets code in sandboxes make user namespaces, as Chromium and Firefox need for their own sandbox; it widens what hostile code reaches of the kernel',
    ),
  PORTHOLE_SANDBOX_NETWORK: z
    .string()
    .regex(
      /^(?!(host|default|bridge)$)[A-Za-z0-9][\w.-]{0,127}$/,
      "must be none or the name of a network of one's own",
    )
    .default('none')
    .describe('docker: network that sandboxes join; none: their own loopback and nothing else'),
  DOCKER_HOST: z
    .string()
    .optional()
    .describe("docker: the engine, unix:///path or tcp://host:port; without it this machine's own"),
  DOCKER_TLS_VERIFY: z.string().optional().describe('docker: not empty: tcp:// is TLS'),
  DOCKER_CERT_PATH: z.string().optional().describe('docker: folder of ca.pem, cert.pem and key.pem for TLS'),
  PORTHOLE_SANDBOX_STORAGE_CLASS: text
    .optional()
    .describe("kubernetes: storage class of /workspace; without it the cluster's default"),
  PORTHOLE_SANDBOX_PULL_SECRET: text
    .optional()
    .describe(
      "kubernetes: Secret beside the sandboxes that their images are pulled with; without it what the namespace's service account has",
    ),
  PORTHOLE_SANDBOX_RUNTIME_CLASS: dnsName
    .optional()
    .describe(
      "kubernetes: RuntimeClass of sandboxes, for stronger isolation, e.g. gvisor; without it the cluster's default",
    ),
  PORTHOLE_SANDBOX_PRIORITY_CLASS: dnsName
    .optional()
    .describe("kubernetes: PriorityClass of sandboxes; without it the cluster's default"),
  PORTHOLE_SANDBOX_POD: json(SandboxPodSchema)
    .prefault('{}')
    .describe(
      'kubernetes: what the pods of sandboxes have besides, JSON {labels, annotations, nodeSelector, tolerations, affinity, topologySpreadConstraints}, each as in a pod',
    ),
  PORTHOLE_SANDBOX_HOST_USERS: flag
    .default(true)
    .describe(
      "kubernetes: whether sandboxes share the node's user namespace; false needs Kubernetes 1.33 and a runtime with user namespaces (containerd 2)",
    ),
  PORTHOLE_GUEST_IMAGE: text
    .optional()
    .describe(
      'kubernetes: image from which an init container copies /porthole into each sandbox; without it images of sandboxes must have the guest',
    ),
  PORTHOLE_GUEST_REACH: z
    .enum(['address', 'forward'])
    .optional()
    .describe(
      "In a cluster: how guests are called, at their pods' addresses or by port-forwards; by address in a pod, by port-forwards elsewhere",
    ),
  PORTHOLE_WARM_POOL: text
    .optional()
    .describe('agent-sandbox: SandboxWarmPool of sandboxes that ask for no image; required there'),
  PORTHOLE_WARM_POOLS_BY_IMAGE: json(z.record(text, text))
    .default({})
    .describe('agent-sandbox: SandboxWarmPools by the image that they give, JSON {image: pool}'),
  SANDBOX_IDLE_TIMEOUT_MINUTES: whole(1, 525_600)
    .default(30)
    .describe(
      'Without commands, files, terminals and preview traffic for this long, a sandbox is stopped; its files stay',
    ),
  SANDBOX_RETENTION_HOURS: whole(1, 87_600)
    .default(72)
    .describe('A sandbox that was stopped for this long is destroyed, with its files'),
  PORTHOLE_QUOTAS: json(QuotasSchema)
    .prefault('{}')
    .describe(
      'What a person may have at a time, JSON {default: {sandboxes, runs, previews, cpu, memory_mb, disk_mb}, users: {user: the same}}; null: any amount; without it 10 sandboxes, 100 active runs and 10 previews. The service key is bound only where `service` is named',
    ),
  PORTHOLE_REQUEST_LIMITS: json(RequestLimitsSchema)
    .prefault('{}')
    .describe(
      'Requests at a time in this process, JSON {cheap, heavy, stream: {per_owner, total, waiting}, wrong_secrets_per_minute}; heavy: listings, archives and transfers; stream: event streams, commands and terminals. Without it 32, 2 and 128 per owner; beyond `waiting` 429. An address may try 30 different wrong keys or tokens a minute',
    ),
  WARM_POOL_TARGET: whole(0, 1_000)
    .default(0)
    .describe('Sandboxes of the default image to keep ready; 0: none'),
  WARM_POOL_REFRESH_INTERVAL: whole(100, 86_400_000)
    .default(10_000)
    .describe('Milliseconds between two looks at those that are kept ready'),
  WARM_POOL_MAX_INSTANCES: whole(0, 100_000)
    .default(0)
    .describe(
      'Sandboxes at most, ready ones and those in use together, for the pool to make more; 0: no limit',
    ),
  WARM_POOL_SCALE_BATCH_SIZE: whole(0, 999_999_999)
    .transform((size) => Math.min(Math.max(size, 1), 20))
    .default(5)
    .describe('Sandboxes that are made ready at once; what is outside 1 to 20 counts as the nearest of them'),
  PORTHOLE_GATEWAY_LISTENER: text
    .optional()
    .describe("The Gateway's listener for previews; without it, all listeners with a matching hostname"),
  PORTHOLE_GATEWAY_PROBE: httpUrl
    .optional()
    .describe(
      "Where this process reaches the Gateway, to see whether a preview serves, e.g. https://traefik.traefik.svc; without it only the route's status is read",
    ),
  PORTHOLE_GATEWAY_CA: text
    .optional()
    .describe("PEM file of the authority behind the Gateway's certificate; without it the system's"),
  PORTHOLE_GATEWAY_SERVICE_KIND: z
    .enum(['headless', 'clusterip'], 'must be headless or clusterip')
    .default('headless')
    .describe(
      'Kind of the Service behind a preview; clusterip for gateways that do not route to headless ones',
    ),
  PORTHOLE_GATEWAY_PORT: whole(1, 65_535).default(443).describe('Port at which people reach the Gateway'),
  PORTHOLE_CHANNEL_PORT: whole(1, 65_535)
    .optional()
    .describe(
      'In a cluster: port on which sandboxes call back, for the porthole command; serves the agent routes of runs and nothing else',
    ),
  PORTHOLE_CHANNEL_URL: z
    .url({ protocol: /^http$/, error: 'must be an http URL' })
    .optional()
    .describe(
      'In a cluster: where sandboxes reach that port, e.g. http://porthole.porthole.svc:8788; they receive the address that the name resolves to',
    ),
  PORTHOLE_PUBLIC_URL: httpUrl
    .optional()
    .describe(
      'Where people reach Porthole, with a domain or a proxy in front, e.g. https://porthole.example.com',
    ),
  PORTHOLE_TLS_CERT: text
    .optional()
    .describe(
      'PEM file of the certificate and its chain, with which this process itself speaks TLS; read again when it changes. Needs PORTHOLE_TLS_KEY and PORTHOLE_PUBLIC_URL',
    ),
  PORTHOLE_TLS_KEY: text
    .optional()
    .describe('PEM file of its private key, without a passphrase; read again when it changes'),
  PORTHOLE_ALLOWED_HOSTS: z
    .string()
    .transform((value) =>
      value
        .split(',')
        .map((host) => host.trim().toLowerCase())
        .filter((host) => host !== ''),
    )
    .default([])
    .describe('More host names that requests may carry, separated by commas'),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' })
    .optional()
    .describe('PostgreSQL for the records; without it a SQLite file in the data folder'),
  SANDBOX_API_KEY: z
    .string()
    .min(1, 'must not be empty')
    .optional()
    .describe(
      `The key of the service itself (an admin); at least ${MIN_KEY_LENGTH} characters unless HOST is a loopback address`,
    ),
  PORTHOLE_API_KEYS: json(ApiKeys).optional().describe('Keys of people, JSON {key: {user, org, admin?}}'),
  OIDC_ISSUER: httpUrl
    .optional()
    .describe('OpenID Connect issuer of accepted bearer tokens; needs OIDC_AUDIENCE'),
  OIDC_AUDIENCE: text.optional().describe('The audience those tokens must name'),
  OIDC_ORG_CLAIM: text.default('org').describe('The claim that names the org'),
  OIDC_ADMIN_CLAIM: text.default('admin').describe('The claim that is true for admins'),
  OIDC_CLIENT_ID: text
    .optional()
    .describe('The client as which people sign in to the console at OIDC_ISSUER; without it with keys alone'),
  OIDC_CLIENT_SECRET: text.optional().describe('Its secret, where the issuer gave it one'),
  PORTHOLE_SIGNING_KEYS: json(JwksSchema)
    .optional()
    .describe('JWKS of symmetric keys; the first signs. Required with DATABASE_URL'),
  PORTHOLE_BUCKETS: json(BucketsSchema)
    .default({})
    .describe(
      'Buckets that callers may mount by name, JSON {name: {bucket, endpoint, region?, prefix?, read_only?, access_key_id?, secret_access_key?, open_to?: [{org, user?}]}}; admins may mount all of them, others those that open_to names them or their org in',
    ),
  PORTHOLE_MOUNT_ENDPOINTS: MountEndpointsSchema.optional().describe(
    'Origins of S3 servers, separated by commas, * for a label: every user may mount their buckets with their own keys; without it AWS, R2 and GCS. Admins may mount from any',
  ),
  PORTHOLE_NETWORK_DEFAULT: z
    .enum(NETWORK_MODES, MODES)
    .optional()
    .describe('What a sandbox may reach that asks for nothing; packages on one machine, off elsewhere'),
  PORTHOLE_NETWORK_WIDEST: z
    .enum(NETWORK_MODES, MODES)
    .default('open')
    .describe('The most that a sandbox may be allowed to reach, by its creator or by an answer of its owner'),
  PORTHOLE_NETWORK_PRIVATE_ALLOW: z
    .string()
    .default('')
    .transform((value) =>
      value
        .split(',')
        .map((each) => each.trim())
        .filter((each) => each !== ''),
    )
    .pipe(z.array(z.union([z.cidrv4(), z.cidrv6()], 'must be address ranges, e.g. 10.1.0.0/16')))
    .describe(
      'Private ranges that sandboxes may reach all the same, e.g. of a mirror: CIDR, separated by commas',
    ),
  http_proxy: z
    .string()
    .optional()
    .describe('The proxy by which this machine reaches port 80; HTTP_PROXY as well'),
  HTTP_PROXY: z.string().optional().describe('See http_proxy'),
  https_proxy: z.string().optional().describe('The same for every other port; HTTPS_PROXY as well'),
  HTTPS_PROXY: z.string().optional().describe('See https_proxy'),
  all_proxy: z.string().optional().describe('Where neither is set; ALL_PROXY as well'),
  ALL_PROXY: z.string().optional().describe('See all_proxy'),
  no_proxy: z.string().optional().describe('Hosts that are reached without them; NO_PROXY as well'),
  NO_PROXY: z.string().optional().describe('See no_proxy'),
  AWS_ACCESS_KEY_ID: z.string().optional().describe('With AWS_SECRET_ACCESS_KEY: for mounts without keys'),
  AWS_SECRET_ACCESS_KEY: z.string().optional().describe('See AWS_ACCESS_KEY_ID'),
  R2_ACCESS_KEY_ID: z
    .string()
    .optional()
    .describe('With R2_SECRET_ACCESS_KEY: for mounts without keys, where the AWS ones are not set'),
  R2_SECRET_ACCESS_KEY: z.string().optional().describe('See R2_ACCESS_KEY_ID'),
  PORTHOLE_ARCHIVE_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .optional()
    .describe(
      'Bucket in which workspaces are kept as tars before their sandboxes are destroyed after SANDBOX_RETENTION_HOURS; without it they are not kept',
    ),
  PORTHOLE_ARCHIVE_ENDPOINT: httpUrl
    .optional()
    .describe('Origin of its S3 server; without it that of AWS in PORTHOLE_ARCHIVE_REGION'),
  PORTHOLE_ARCHIVE_REGION: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a region, e.g. eu-west-1')
    .default('us-east-1')
    .describe('Region of the bucket'),
  PORTHOLE_ARCHIVE_ACCESS_KEY_ID: text
    .optional()
    .describe('With PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY: for the bucket; without them the AWS ones'),
  PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY: text.optional().describe('See PORTHOLE_ARCHIVE_ACCESS_KEY_ID'),
  PORTHOLE_BROWSER: text
    .optional()
    .describe(
      'Chromium or Google Chrome that looks at pages of previews; without it the one on PATH; 501 browser_missing if none is found',
    ),
  LOG_LEVEL: z
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'must be trace, debug, info, warn, error, fatal or silent',
    )
    .default('info')
    .describe('Least severe log line to write'),
  SANDBOX_PREVIEW_AUTO_APPROVE: flag
    .optional()
    .describe('Same as Sandbox__Preview__AutoApprove; either one being true is enough'),
  SNAPSHOT_TTL_HOURS: whole(1, 8_760)
    .default(24)
    .describe('For how long actions may follow a run of the editor; then its snapshot and files are removed'),
  SNAPSHOT_MAX_BYTES: whole(1, 16_000_000)
    .default(2_000_000)
    .describe('The most bytes that the snapshot of a run may have as canonical JSON'),
  SNAPSHOT_MAX_TOTAL_BYTES: whole(1, 1_000_000_000_000)
    .default(200_000_000)
    .describe('The most bytes that the code and the state of all snapshots of a person may have'),
  SNAPSHOT_RUN_RETENTION_DAYS: whole(1, 3_650)
    .default(30)
    .describe('For how long a run of the editor is listed and read once its snapshot is over'),
  SNAPSHOT_RUN_TIMEOUT_SECONDS: whole(1, 3_600)
    .default(60)
    .describe('The longest that a run of the editor, or an action, may take'),
  SNAPSHOT_RUN_MEMORY_MIB: whole(64, 1_048_576)
    .default(512)
    .describe('Memory of each process of a run of the editor, in MiB'),
  Sandbox__Preview__Enabled: flag
    .default(true)
    .describe('Whether previews have URLs; false: loopback listeners'),
  Sandbox__Preview__ZoneSuffix: dnsName
    .default('localhost')
    .describe('Previews are {token}-preview.{ZoneSuffix}'),
  Sandbox__Preview__GatewayName: text
    .default('agentweaver-preview-gateway')
    .describe('Gateway that preview routes attach to'),
  Sandbox__Preview__GatewayNamespace: text.default('agentweaver').describe('Namespace of that Gateway'),
  Sandbox__Preview__Namespace: text.default('agentweaver').describe('Namespace of previews and sandboxes'),
  Sandbox__Preview__Upstream: z
    .enum(['guest', 'direct'], 'must be guest or direct')
    .default('guest')
    .describe(
      "In a cluster, where the Service of a preview leads: `guest` (the sandbox's guest, which reaches servers on loopback too), or `direct` (the server's own port)",
    ),
  Sandbox__Preview__IdleTimeoutMinutes: whole(1, 10_080)
    .default(30)
    .describe('A preview that is not kept alive this long ends'),
  Sandbox__Preview__MaxLifetimeHours: whole(1, 720)
    .default(8)
    .describe('A preview ends after this, whatever happens'),
  Sandbox__Preview__KeepAfterRun: flag.default(true).describe('Whether previews outlive their run'),
  Sandbox__Preview__AllowedPortMin: whole(1, 65_535)
    .default(3000)
    .describe('Lowest port a preview may expose'),
  Sandbox__Preview__AllowedPortMax: whole(1, 65_535)
    .default(9000)
    .describe('Highest port a preview may expose'),
  Sandbox__Preview__AutoApprove: flag
    .default(false)
    .describe('Open what agents ask for without a person; keep false in production'),
  Sandbox__Preview__MaxPerRun: whole(1, 1_000).default(3).describe('Live previews a run may have'),
  Sandbox__Preview__MaxTotal: whole(1, 100_000).default(20).describe('Live previews of everybody together'),
  Sandbox__Preview__ReadyTimeoutSeconds: whole(1, 300)
    .default(10)
    .describe('Longest wait for a URL to serve'),
});
/** The parsed variables. */
export type Environment = z.infer<typeof EnvironmentSchema>;
