import { z } from 'zod';
import { BucketsSchema, MountEndpointsSchema } from './buckets-schema.ts';
import { ImageFields, ImageName, toCatalogueImage } from './image-schemas.ts';
import { ACCESS_LEVELS } from '../preview-access.ts';
import { BudgetsSchema, QuotasSchema, RequestLimitsSchema } from './limits-schema.ts';
import { namesOf, OPTIONAL_FEATURES } from './optional-features.ts';
import { SandboxPodSchema } from './sandbox-pod-schema.ts';
import { SANDBOX_SIZE } from './sandbox-size.ts';
import { JwksSchema, MIN_KEY_LENGTH, NETWORK_MODES, SHARING } from './shared-values.ts';

/** Contains what dev servers, git and the `porthole` command need. */
export const DOCKER_IMAGE = 'docker.io/library/node:24-bookworm';

/** Providers with sandboxes and previews on this process's machine. */
export const ONE_MACHINE_PROVIDERS = ['local', 'docker'] as const;
const PROVIDERS = [...ONE_MACHINE_PROVIDERS, 'kubernetes', 'agent-sandbox', 'auto'] as const;

const ISOLATIONS = ['auto', 'bubblewrap', 'unshare', 'gvisor'] as const;

const text = z.string().trim().min(1, 'must not be empty');
const flag = z
  .string()
  .transform((value) => value.trim().toLowerCase())
  .pipe(z.enum(['true', '1', 'yes', 'false', '0', 'no'], 'must be true or false'))
  .transform((value) => value === 'true' || value === '1' || value === 'yes');
const whole = (min: number, max: number) =>
  z.string().transform((value, context) => {
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    context.addIssue(`must be a whole number from ${min} to ${max}`);
    return z.NEVER;
  });
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
const LISTENER_KINDS = ['Gateway', 'ListenerSet', 'XListenerSet'] as const;
const ZonesSchema = z.array(
  z.strictObject({
    zone: dnsName,
    orgs: z.array(z.string().min(1)).min(1, 'must name an org, because it is the zone of orgs'),
    access: z.enum(ACCESS_LEVELS).optional(),
    maxAccess: z.enum(ACCESS_LEVELS).optional(),
    gateway: z.strictObject({
      kind: z.enum(LISTENER_KINDS).optional(),
      name: z.string().min(1),
      namespace: z.string().min(1),
      sectionName: z.string().min(1).optional(),
    }),
  }),
);
const addressRange = z.union([z.cidrv4(), z.cidrv6()]);
/** With a range of all addresses, everyone could choose the address that limits see. */
const proxyRange = z
  .string()
  .refine((range) => addressRange.safeParse(range).success && !/\/0+$/.test(range), {
    error: ({ input }) =>
      `${JSON.stringify(input)} must be the address range of a proxy, e.g. 10.1.0.0/16, or 10.1.0.7/32 for one address`,
  });
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });

const ApiKeys = z.record(
  z.string().min(MIN_KEY_LENGTH, `a key needs at least ${MIN_KEY_LENGTH} characters`),
  z.strictObject({ user: text, org: text, admin: z.boolean().default(false) }),
);

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
    .describe('Port of the API and of the local preview gateway; 0 selects a free one'),
  HOST: text
    .default('127.0.0.1')
    .describe('Address to listen on; an address other than loopback requires a configured credential'),
  PORTHOLE_DATA_DIR: text
    .default('.porthole')
    .describe('Folder of the database, the keys and the local sandboxes'),
  PORTHOLE_PROVIDER: z
    .enum(PROVIDERS, `must be ${PROVIDERS.slice(0, -1).join(', ')} or ${PROVIDERS.at(-1)}`)
    .default('local')
    .describe(
      'Provider of sandboxes: processes on this machine, containers of a Docker engine, pods of a cluster, or claims on its warm pools; auto: agent-sandbox if the cluster has it, else kubernetes',
    ),
  PORTHOLE_SANDBOX_IMAGE: text
    .optional()
    .describe(
      `docker, kubernetes: default image of sandboxes; required with kubernetes, ${DOCKER_IMAGE} with docker`,
    ),
  PORTHOLE_IMAGES: json(ImagesSchema)
    .optional()
    .describe(
      'Images that can be requested by name, JSON {name: {reference, description?, languages?, resources?: {cpu?, memory_mb?, disk_mb?}}}; admins may add more. By default those of images/: multi, node and python',
    ),
  PORTHOLE_SANDBOX_CPUS: z
    .string()
    .regex(/^\d{1,4}(\.\d{1,3})?$/, 'must be a number of cores from 0.1 to 1024')
    .transform(Number)
    .refine((cores) => cores >= 0.1 && cores <= 1_024, 'must be a number of cores from 0.1 to 1024')
    .default(SANDBOX_SIZE.cpuLimitMillis / 1_000)
    .describe(
      "local, docker, kubernetes: default CPU cores of a sandbox; agent-sandbox: must equal those of the default pool's template",
    ),
  PORTHOLE_SANDBOX_MEMORY_MIB: whole(64, 16_777_216)
    .default(SANDBOX_SIZE.memoryMebibytes)
    .describe(
      'local, docker, kubernetes: default memory of a sandbox, in MiB (local, docker: includes its /tmp and home folder), without swap; agent-sandbox: must equal that of the template',
    ),
  PORTHOLE_SANDBOX_PIDS: whole(16, 4_194_304)
    .default(SANDBOX_SIZE.pids)
    .describe('docker: maximum number of processes and threads of a sandbox'),
  PORTHOLE_SANDBOX_DISK_MIB: whole(16, 16_777_216)
    .default(SANDBOX_SIZE.workspaceMebibytes)
    .describe(
      "local, docker, kubernetes: default size of /workspace, in MiB (local: a sandbox with more is stopped within seconds; docker: enforced if the engine's volumes support quotas, and for single files always); agent-sandbox: must equal that of the template",
    ),
  PORTHOLE_ISOLATION: z
    .enum(ISOLATIONS, `must be ${ISOLATIONS.slice(0, -1).join(', ')} or ${ISOLATIONS.at(-1)}`)
    .default('auto')
    .describe(
      'local: what isolates sandboxes; auto: bubblewrap, else unshare, else nothing, with a warning. With gvisor, a kernel in user space (runsc) handles their system calls. Porthole does not start if the isolation asked for does not work',
    ),
  PORTHOLE_RUNSC: text.default('runsc').describe("local: gVisor's program, by its name on PATH or its path"),
  PORTHOLE_KEEP_MEMORY: flag
    .default(true)
    .describe(
      'local, with gvisor: save the memory of an unused sandbox when it stops, so that its programs go on at its next use',
    ),
  PORTHOLE_SANDBOX_USER_NAMESPACES: flag
    .default(false)
    .describe(
      'local: allow user namespaces in sandboxes, which Chromium and Firefox need for their own sandbox; hostile code can then reach more of the kernel',
    ),
  PORTHOLE_SANDBOX_NETWORK: z
    .string()
    .regex(
      /^(?!(host|default|bridge)$)[A-Za-z0-9][\w.-]{0,127}$/,
      'must be none or the name of a user-defined network',
    )
    .default('none')
    .describe('docker: network that sandboxes join; none: only their own loopback'),
  DOCKER_HOST: z
    .string()
    .optional()
    .describe('docker: the engine, unix:///path or tcp://host:port; by default the local engine'),
  DOCKER_TLS_VERIFY: z.string().optional().describe('docker: if not empty, tcp:// uses TLS'),
  DOCKER_CERT_PATH: z.string().optional().describe('docker: folder of ca.pem, cert.pem and key.pem for TLS'),
  PORTHOLE_SANDBOX_STORAGE_CLASS: text
    .optional()
    .describe('kubernetes: StorageClass of /workspace; by default that of the cluster'),
  PORTHOLE_SANDBOX_PULL_SECRET: text
    .optional()
    .describe(
      "kubernetes: image pull Secret in the namespace of sandboxes; by default those of the namespace's service account",
    ),
  PORTHOLE_SANDBOX_RUNTIME_CLASS: dnsName
    .optional()
    .describe('kubernetes: RuntimeClass of sandboxes, e.g. gvisor; by default that of the cluster'),
  PORTHOLE_SANDBOX_PRIORITY_CLASS: dnsName
    .optional()
    .describe('kubernetes: PriorityClass of sandboxes; by default that of the cluster'),
  PORTHOLE_SANDBOX_POD: json(SandboxPodSchema)
    .prefault('{}')
    .describe(
      'kubernetes: additional fields of sandbox pods, JSON {labels, annotations, nodeSelector, tolerations, affinity, topologySpreadConstraints}, each as in a pod',
    ),
  PORTHOLE_SANDBOX_HOST_USERS: flag
    .default(true)
    .describe(
      "kubernetes: whether sandboxes share the node's user namespace; false needs Kubernetes 1.33 and a runtime with user namespaces (containerd 2)",
    ),
  PORTHOLE_GUEST_IMAGE: text
    .optional()
    .describe(
      'kubernetes: image from which an init container copies /porthole into each sandbox; without it, images of sandboxes must contain the guest',
    ),
  PORTHOLE_GUEST_REACH: z
    .enum(['address', 'forward'])
    .optional()
    .describe(
      "In a cluster: how guests are called, at their pod's address or through a port-forward; by default the address if this process runs in a pod, else a port-forward",
    ),
  PORTHOLE_WARM_POOL: text.optional().describe('agent-sandbox: default SandboxWarmPool; required'),
  PORTHOLE_WARM_POOLS_BY_IMAGE: json(z.record(text, text))
    .default({})
    .describe('agent-sandbox: SandboxWarmPools by image, JSON {image: pool}'),
  SANDBOX_IDLE_TIMEOUT_MINUTES: whole(1, 525_600)
    .default(30)
    .describe(
      'A sandbox without commands, file access, terminals and preview traffic is stopped after this time; its files stay',
    ),
  SANDBOX_RETENTION_HOURS: whole(1, 87_600)
    .default(72)
    .describe('A stopped sandbox is destroyed after this time, with its files'),
  PORTHOLE_QUOTAS: json(QuotasSchema)
    .prefault('{}')
    .describe(
      'Quotas per user, JSON {default: {sandboxes, runs, previews, cpu, memory_mb, disk_mb}, users: {user: the same}}; null: no limit; by default 10 sandboxes (without keys, on one machine: one for each 512 MiB of its memory, 10 to 100), 100 active runs and 10 previews. The service key has a quota only if `service` is listed',
    ),
  PORTHOLE_BUDGETS: json(BudgetsSchema)
    .optional()
    .describe(
      'What may be used in a month (UTC), JSON {default, users: {user: budget}, orgs: {org: budget}}; a budget is {vcpu_s, memory_gib_s, at_limit}. An event says that 80 % are spent, another that all is; with at_limit `stop`, running sandboxes are stopped then and none starts, by default `warn`. An org is all of its users together',
    ),
  PORTHOLE_REQUEST_LIMITS: json(RequestLimitsSchema)
    .prefault('{}')
    .describe(
      'Concurrent requests of this process, JSON {cheap, heavy, stream: {per_owner, total, waiting}, streams_per_second, wrong_secrets_per_minute}; heavy: listings, archives and transfers; stream: event streams, commands and terminals. By default 32, 2 and 128 per owner; beyond `waiting` the answer is 429. An owner who opens more than 50 streams a second waits. An address may try 30 different wrong keys or tokens a minute, and 30 wrong passwords of each preview',
    ),
  PORTHOLE_MAX_FILE_MIB: whole(32, 1_048_576)
    .default(32)
    .describe(
      'Largest file of PUT /v1/sandbox/{id}/file/{path}, in MiB; a larger one is 413. Uploads by POST …/files, as the clients and the console make them, are limited by the disk of the sandbox',
    ),
  PORTHOLE_MAX_ARCHIVE_MIB: whole(1, 16_777_216)
    .optional()
    .describe(
      'Largest archive of POST /v1/sandbox/{id}/hydrate, in MiB; by default the size of the disk of the sandbox',
    ),
  PORTHOLE_CHECKPOINTS_MIB: whole(1, 16_777_216)
    .default(20_480)
    .describe(
      'What all checkpoints of one owner may take, in MiB. They are in the bucket of archives, on one machine without one in the data folder',
    ),
  PORTHOLE_AUTO_CHECKPOINTS: flag
    .default(false)
    .describe(
      'Make a checkpoint without a request: at the end of a burst of edits, when an agent asks for an approval, and before a command of PORTHOLE_CHECKPOINT_COMMANDS. The last 10 of a sandbox are kept',
    ),
  PORTHOLE_CHECKPOINT_COMMANDS: z
    .string()
    .default('')
    .transform(namesOf)
    .describe(
      'With PORTHOLE_AUTO_CHECKPOINTS: the first words of commands before which a checkpoint is made, separated by commas: git reset,rm -rf. A command waits 10 seconds at most',
    ),
  PORTHOLE_RUN_SHARING: z
    .enum(SHARING)
    .default('private')
    .describe(
      "How new runs are shared with their owner's organisation: private, view (read the run, its previews, files and output) or work (also work in its sandbox). The owner can change it",
    ),
  WARM_POOL_TARGET: whole(0, 1_000)
    .default(0)
    .describe('Sandboxes of the default image that are kept ready; 0: none'),
  WARM_POOL_REFRESH_INTERVAL: whole(100, 86_400_000)
    .default(10_000)
    .describe('Milliseconds between two checks of the warm pool'),
  WARM_POOL_MAX_INSTANCES: whole(0, 100_000)
    .default(0)
    .describe(
      'Maximum number of sandboxes, ready and in use, up to which the pool creates more; 0: no limit',
    ),
  WARM_POOL_SCALE_BATCH_SIZE: whole(0, 999_999_999)
    .transform((size) => Math.min(Math.max(size, 1), 20))
    .default(5)
    .describe('Sandboxes that the pool creates at once; values outside 1 to 20 are clamped'),
  PORTHOLE_GATEWAY_LISTENER: text
    .optional()
    .describe("The Gateway's listener for previews; without it, all listeners with a matching hostname"),
  PORTHOLE_GATEWAY_KIND: z
    .enum(LISTENER_KINDS)
    .default('Gateway')
    .describe('Kind of the object that has this listener: Gateway, ListenerSet or XListenerSet'),
  PORTHOLE_ZONES: json(ZonesSchema)
    .prefault('[]')
    .describe(
      'In a cluster, zones of single orgs, JSON [{zone, orgs, access?, maxAccess?, gateway: {kind?, name, namespace, sectionName?}}]; access and maxAccess are those of its previews, and previews of all other orgs are in ZoneSuffix',
    ),
  PORTHOLE_GATEWAY_PROBE: httpUrl
    .optional()
    .describe(
      'URL at which this process requests a preview from the Gateway, to see whether it serves, e.g. https://traefik.traefik.svc; without it only the status of the route is read',
    ),
  PORTHOLE_GATEWAY_CA: text
    .optional()
    .describe(
      "PEM file of the authority that signed the Gateway's certificate; by default the system's authorities",
    ),
  PORTHOLE_GATEWAY_SERVICE_KIND: z
    .enum(['headless', 'clusterip'], 'must be headless or clusterip')
    .default('headless')
    .describe(
      'Kind of the Service of a preview; clusterip for gateways that do not route to headless Services',
    ),
  PORTHOLE_GATEWAY_PORT: whole(1, 65_535).default(443).describe('Port of the Gateway in URLs'),
  PORTHOLE_CHANNEL_PORT: whole(1, 65_535)
    .optional()
    .describe(
      'In a cluster: port for the porthole command in sandboxes; serves only the agent routes of runs',
    ),
  PORTHOLE_CHANNEL_URL: z
    .url({ protocol: /^http$/, error: 'must be an http URL' })
    .optional()
    .describe(
      'In a cluster: URL of that port for sandboxes, e.g. http://porthole.porthole.svc:8788; they receive the resolved address',
    ),
  PORTHOLE_BROKER_URL: z
    .url({ protocol: /^tcp$/, error: 'must be a URL like tcp://porthole-broker.porthole.svc:8789' })
    .refine((url) => URL.parse(url)?.port !== '', 'must name a port')
    .optional()
    .describe(
      'In a cluster: URL of the broker (host/broker.ts) that makes the connections of sandboxes, e.g. tcp://porthole-broker.porthole.svc:8789; it listens on that port',
    ),
  PORTHOLE_PUBLIC_URL: httpUrl
    .optional()
    .describe('Public URL of Porthole, with a domain or behind a proxy, e.g. https://porthole.example.com'),
  PORTHOLE_DOCS_URL: httpUrl
    .optional()
    .describe('Documentation of your own that the console links to, besides the pages of its build'),
  PORTHOLE_FEEDBACK_URL: httpUrl
    .optional()
    .describe('Where people of the console send feedback; without it there is no link'),
  PORTHOLE_TLS_CERT: text
    .optional()
    .describe(
      'PEM file of the certificate and its chain; this process then serves TLS. Read again when it changes; requires PORTHOLE_TLS_KEY and PORTHOLE_PUBLIC_URL',
    ),
  PORTHOLE_TLS_KEY: text
    .optional()
    .describe('PEM file of its private key, without a passphrase; read again when it changes'),
  PORTHOLE_ALLOWED_HOSTS: z
    .string()
    .transform((value) => namesOf(value.toLowerCase()))
    .default([])
    .describe('Additional host names that requests may have, separated by commas'),
  PORTHOLE_TRUSTED_PROXIES: z
    .string()
    .default('')
    .transform(namesOf)
    .pipe(z.array(proxyRange))
    .describe(
      'Addresses of the proxies in front of this process, in CIDR notation, separated by commas. Their X-Forwarded-For is believed: the client is its rightmost address that is not in these ranges. Limits of wrong keys and passwords, and the X-Forwarded-For of apps, use that address; by default the client is the peer of the connection',
    ),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' })
    .optional()
    .describe('URL of PostgreSQL; by default a SQLite file in the data folder'),
  SANDBOX_API_KEY: z
    .string()
    .min(1, 'must not be empty')
    .regex(
      /^(?!sha256:)|^sha256:[A-Za-z0-9+/]{43}=$/,
      'must be a key, or the line that npm run admin-key prints',
    )
    .optional()
    .describe(
      `API key with admin rights, or its hash, which npm run admin-key prints; at least ${MIN_KEY_LENGTH} characters unless HOST is a loopback address`,
    ),
  PORTHOLE_API_KEYS: json(ApiKeys).optional().describe('API keys of users, JSON {key: {user, org, admin?}}'),
  OIDC_ISSUER: httpUrl
    .optional()
    .describe('OpenID Connect issuer of accepted bearer tokens; requires OIDC_AUDIENCE'),
  OIDC_AUDIENCE: text.optional().describe('Required audience of the tokens'),
  OIDC_ORG_CLAIM: text.default('org').describe('Claim that holds the org'),
  OIDC_ADMIN_CLAIM: text.default('admin').describe('Claim that is true for admins'),
  OIDC_CLIENT_ID: text
    .optional()
    .describe('Client ID for sign-in to the console at OIDC_ISSUER; without it, sign-in is by key only'),
  OIDC_CLIENT_SECRET: text.optional().describe('Client secret, if it has one'),
  PORTHOLE_SIGNING_KEYS: json(JwksSchema)
    .optional()
    .describe('JWKS of symmetric keys; the first one signs. Required with DATABASE_URL'),
  PORTHOLE_BUCKETS: json(BucketsSchema)
    .default({})
    .describe(
      'Buckets that callers may mount by name, JSON {name: {bucket, endpoint, region?, prefix?, read_only?, access_key_id?, secret_access_key?, open_to?: [{org, user?}]}}; admins may mount all of them, others those that list them or their org in open_to',
    ),
  PORTHOLE_MOUNT_ENDPOINTS: MountEndpointsSchema.optional().describe(
    'Origins of S3 servers from which every user may mount buckets with their own keys, separated by commas, * for a label; by default AWS, R2 and GCS. Admins may mount from any origin',
  ),
  PORTHOLE_NETWORK_DEFAULT: z
    .enum(NETWORK_MODES, MODES)
    .optional()
    .describe('Default network mode of sandboxes; by default packages on one machine, else off'),
  PORTHOLE_NETWORK_WIDEST: z
    .enum(NETWORK_MODES, MODES)
    .default('open')
    .describe('Widest network mode that a creator or owner may choose'),
  PORTHOLE_NETWORK_PRIVATE_ALLOW: z
    .string()
    .default('')
    .transform(namesOf)
    .pipe(z.array(z.union([z.cidrv4(), z.cidrv6()], 'must be address ranges, e.g. 10.1.0.0/16')))
    .describe(
      'Private ranges in CIDR notation that sandboxes may reach, e.g. of a mirror, separated by commas',
    ),
  PORTHOLE_WEBHOOK_ALLOW: z
    .string()
    .transform(namesOf)
    .pipe(
      z.array(
        z.union(
          [z.cidrv4(), z.cidrv6(), dnsName],
          'must be lower-case host names or address ranges, e.g. 10.1.0.0/16',
        ),
      ),
    )
    .optional()
    .describe(
      'Receivers of webhooks that are not public: hosts that may have private addresses, and ranges in CIDR notation, e.g. `127.0.0.0/8`, separated by commas. Default: none; on one machine without credentials, this machine',
    ),
  http_proxy: z.string().optional().describe('Proxy for connections to port 80; HTTP_PROXY as well'),
  HTTP_PROXY: z.string().optional().describe('See http_proxy'),
  https_proxy: z.string().optional().describe('Proxy for connections to other ports; HTTPS_PROXY as well'),
  HTTPS_PROXY: z.string().optional().describe('See https_proxy'),
  all_proxy: z.string().optional().describe('Proxy if neither of them is set; ALL_PROXY as well'),
  ALL_PROXY: z.string().optional().describe('See all_proxy'),
  no_proxy: z.string().optional().describe('Hosts to which connections use no proxy; NO_PROXY as well'),
  NO_PROXY: z.string().optional().describe('See no_proxy'),
  AWS_ACCESS_KEY_ID: z
    .string()
    .optional()
    .describe('Access key for mounts without keys; requires AWS_SECRET_ACCESS_KEY'),
  AWS_SECRET_ACCESS_KEY: z.string().optional().describe('See AWS_ACCESS_KEY_ID'),
  R2_ACCESS_KEY_ID: z
    .string()
    .optional()
    .describe(
      'Access key for mounts without keys, if the AWS variables are not set; requires R2_SECRET_ACCESS_KEY',
    ),
  R2_SECRET_ACCESS_KEY: z.string().optional().describe('See R2_ACCESS_KEY_ID'),
  PORTHOLE_ARCHIVE_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .optional()
    .describe(
      'Bucket for archives of workspaces, written before a sandbox is destroyed after SANDBOX_RETENTION_HOURS, and for signed heads of the audit; without it there are none',
    ),
  PORTHOLE_ARCHIVE_ENDPOINT: httpUrl
    .optional()
    .describe('Origin of its S3 server; by default that of AWS in PORTHOLE_ARCHIVE_REGION'),
  PORTHOLE_ARCHIVE_REGION: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a region, e.g. eu-west-1')
    .default('us-east-1')
    .describe('Region of the bucket'),
  PORTHOLE_ARCHIVE_ACCESS_KEY_ID: text
    .optional()
    .describe(
      'Access key for the bucket, with PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY; by default the AWS variables',
    ),
  PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY: text.optional().describe('See PORTHOLE_ARCHIVE_ACCESS_KEY_ID'),
  PORTHOLE_BROWSER: text
    .optional()
    .describe(
      'Path of Chromium or Google Chrome, for look and check; by default the one on PATH. Without one they answer 501 browser_missing',
    ),
  PORTHOLE_BROWSERS_URL: z
    .url({ protocol: /^http$/, error: 'must be a URL like http://porthole-browsers.porthole.svc:8790' })
    .optional()
    .describe(
      'In a cluster: URL of the browser servers (host/browsers.ts), which open pages for look and check, e.g. http://porthole-browsers.porthole.svc:8790; replaces PORTHOLE_BROWSER',
    ),
  PORTHOLE_FEATURES_OFF: z
    .string()
    .default('')
    .transform(namesOf)
    .pipe(
      z.array(
        z.enum(OPTIONAL_FEATURES, `must be names of ${OPTIONAL_FEATURES.join(', ')}, separated by commas`),
      ),
    )
    .describe(
      `Features that are switched off, separated by commas: ${OPTIONAL_FEATURES.join(', ')}. What they have stored stays`,
    ),
  LOG_LEVEL: z
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'must be trace, debug, info, warn, error, fatal or silent',
    )
    .default('info')
    .describe('Minimum severity of log lines'),
  SANDBOX_PREVIEW_AUTO_APPROVE: flag
    .optional()
    .describe('Same as Sandbox__Preview__AutoApprove; one of the two is enough'),
  SNAPSHOT_TTL_HOURS: whole(1, 8_760)
    .default(24)
    .describe(
      'Time during which actions may follow a run of the editor; its snapshot and files are removed afterwards',
    ),
  SNAPSHOT_MAX_BYTES: whole(1, 16_000_000)
    .default(2_000_000)
    .describe('Maximum size of the snapshot of a run as canonical JSON, in bytes'),
  SNAPSHOT_MAX_TOTAL_BYTES: whole(1, 1_000_000_000_000)
    .default(200_000_000)
    .describe('Maximum size of code and state of all snapshots of a user, in bytes'),
  SNAPSHOT_RUN_RETENTION_DAYS: whole(1, 3_650)
    .default(30)
    .describe('Time during which a run of the editor can be listed and read after its snapshot expired'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe(
      'OpenTelemetry collector, e.g. http://127.0.0.1:4318: traces and metrics are sent there. By default none are. The other variables of the SDK apply, too',
    ),
  OTEL_EXPORTER_OTLP_PROTOCOL: text
    .default('http/protobuf')
    .describe('Protocol of the collector: http/protobuf or http/json; only read with an endpoint'),
  OTEL_EXPORTER_OTLP_HEADERS: text
    .optional()
    .describe('Headers for the collector, name=value,name=value: its credentials'),
  OTEL_SERVICE_NAME: text.optional().describe('Name of the service in traces; by default porthole'),
  OTEL_RESOURCE_ATTRIBUTES: text.optional().describe('Attributes of all traces, name=value,name=value'),
  OTEL_TRACES_SAMPLER: text
    .optional()
    .describe('Which traces are kept; by default parentbased_always_on: as the caller says, else all'),
  OTEL_TRACES_SAMPLER_ARG: text.optional().describe('Argument of the sampler, such as a ratio from 0 to 1'),
  PORTHOLE_PREVIEW_TRACES: flag
    .default(false)
    .describe(
      'With a collector: requests through the preview proxy are traced, and the app gets the header traceparent. A traceparent of the visitor is passed on in any case',
    ),
  PORTHOLE_AUDIT_RETENTION_DAYS: whole(1, 3_650)
    .default(400)
    .describe('Time that rows of the audit are kept'),
  SNAPSHOT_RUN_TIMEOUT_SECONDS: whole(1, 3_600)
    .default(60)
    .describe('Timeout of a run of the editor or an action'),
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
    .describe('Gateway of preview routes'),
  Sandbox__Preview__GatewayNamespace: text.default('agentweaver').describe('Namespace of that Gateway'),
  Sandbox__Preview__Namespace: text.default('agentweaver').describe('Namespace of previews and sandboxes'),
  Sandbox__Preview__Upstream: z
    .enum(['guest', 'direct'], 'must be guest or direct')
    .default('guest')
    .describe(
      "In a cluster, target of a preview's Service: `guest` (the guest of the sandbox, which also reaches servers on loopback), or `direct` (the port of the server)",
    ),
  Sandbox__Preview__IdleTimeoutMinutes: whole(1, 10_080)
    .default(30)
    .describe('A preview without keepalive ends after this time'),
  Sandbox__Preview__MaxLifetimeHours: whole(1, 720)
    .default(8)
    .describe('A preview ends after this time at the latest'),
  Sandbox__Preview__KeepAfterRun: flag
    .default(true)
    .describe('Whether previews outlive their run, and its owner may start one after it'),
  Sandbox__Preview__AllowedPortMin: whole(1, 65_535)
    .default(3000)
    .describe('Lowest port that a preview may expose'),
  Sandbox__Preview__AllowedPortMax: whole(1, 65_535)
    .default(9000)
    .describe('Highest port that a preview may expose'),
  Sandbox__Preview__AutoApprove: flag
    .default(false)
    .describe('Open previews that agents request without approval; keep false in production'),
  Sandbox__Preview__Access: z
    .enum(ACCESS_LEVELS)
    .default('link')
    .describe(
      'Who may open a preview if its owner has set nothing: owner, org, signed_in, password or link (everyone who has its URL)',
    ),
  Sandbox__Preview__MaxAccess: z
    .enum(ACCESS_LEVELS)
    .default('link')
    .describe('The widest level of access that an owner may set'),
  Sandbox__Preview__ReportContact: z
    .string()
    .max(300)
    .regex(
      /^(?:[^\s@:/?#&<>"]{1,64}@[\w.-]{1,255}|https:\/\/[^\s<>"]+)$/,
      'must be a mail address or an https URL',
    )
    .optional()
    .describe('Where visitors report a preview: a mail address, or an https URL'),
  Sandbox__Preview__MaxWakesPerLink: whole(0, 10_000)
    .default(6)
    .describe('How often in an hour the visitors by one link may start a stopped preview'),
  Sandbox__Preview__MaxWakesPerOwner: whole(0, 100_000)
    .default(30)
    .describe('How often in an hour visitors may start stopped previews of one owner; the owner may always'),
  Sandbox__Preview__MaxNamesPerOwner: whole(0, 100_000)
    .default(100)
    .describe(
      "Maximum number of names of one owner's previews, those given back in the last 30 days included",
    ),
  Sandbox__Preview__MaxPerRun: whole(1, 1_000)
    .default(3)
    .describe('Maximum number of live previews of a run'),
  Sandbox__Preview__MaxTotal: whole(1, 100_000)
    .default(20)
    .describe('Maximum number of live previews of all users together'),
  Sandbox__Preview__ReadyTimeoutSeconds: whole(1, 300)
    .default(10)
    .describe('Time to wait for a URL to serve'),
});
/** The parsed variables. */
export type Environment = z.infer<typeof EnvironmentSchema>;

type PodVariable =
  | `PORTHOLE_SANDBOX_${'STORAGE_CLASS' | 'PULL_SECRET' | 'RUNTIME_CLASS' | 'PRIORITY_CLASS'}`
  | 'PORTHOLE_GUEST_IMAGE';

/** Settings of the pods of sandboxes, by their keys in a stack, each from its variable. */
export function podSettings<Value>(of: (variable: PodVariable) => Value) {
  return {
    storageClass: of('PORTHOLE_SANDBOX_STORAGE_CLASS'),
    pullSecret: of('PORTHOLE_SANDBOX_PULL_SECRET'),
    runtimeClassName: of('PORTHOLE_SANDBOX_RUNTIME_CLASS'),
    priorityClassName: of('PORTHOLE_SANDBOX_PRIORITY_CLASS'),
    guestImage: of('PORTHOLE_GUEST_IMAGE'),
  };
}
