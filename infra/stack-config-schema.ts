import { z } from 'zod';
import { TEMPLATE_SIZE } from '../constructs/agent-sandbox-manifests.ts';
import { ACCESS_LEVELS } from '../protocol/preview-access.ts';
import { MIN_KEY_LENGTH } from '../protocol/settings/shared-values.ts';
import { reachesMetadataOnly } from '../base/address-range.ts';
import { variableFaults } from '../protocol/settings/read-environment.ts';
import { type Environment, EnvironmentSchema } from '../protocol/settings/environment-schema.ts';
import { OPTIONAL_FEATURES } from '../protocol/settings/optional-features.ts';
import { SandboxPodSchema } from '../protocol/settings/sandbox-pod-schema.ts';
import {
  Certificates,
  certificate,
  dnsName,
  httpUrl,
  Gateway,
  imageReference,
  label,
  objectName,
  podLabels,
  text,
  whole,
  Zone,
} from './gateway-config-schema.ts';
import { isUnknown, orOutput } from './placeholders.ts';
import { amountOf } from '../base/quantity.ts';
import { canonicalQuantity } from './quantity.ts';
import { RELEASE_IMAGES } from './release-images.ts';

/** A Kubernetes quantity; `pulumi config set --path` stores `1` as a number. */
const quantity = (pattern: RegExp, least: number, message: string) =>
  z
    .union([z.string(), z.number()], message)
    .transform(String)
    .refine((amount) => pattern.test(amount) && amountOf(amount) >= least, message)
    .transform(canonicalQuantity);
const cpu = quantity(/^(\d+(\.\d{1,3})?|\d+m)$/, 0.001, 'must be a number of CPU cores, e.g. 500m or 2');
const size = quantity(
  /^\d+(\.\d+)?(k|M|G|T|Ki|Mi|Gi|Ti)?$/,
  2 ** 20,
  'must be a size of at least 1Mi, e.g. 512Mi or 1Gi',
);
const addressRange = z
  .union([z.cidrv4(), z.cidrv6()], 'must be an address range, e.g. 203.0.113.0/24')
  .refine(
    (range) => !reachesMetadataOnly(range),
    'contains only metadata addresses, which sandboxes may never reach',
  );
const group = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape).prefault({} as never);

/** An image, by default that of the release. */
export function ofRelease(
  image: string | undefined,
): typeof imageReference | z.ZodDefault<typeof imageReference> {
  return image === undefined ? imageReference : imageReference.default(image);
}

/** A value in a stack file: variables of the functions are text. */
type Spelled<Name extends keyof Environment> = z.ZodType<
  Environment[Name],
  string | number | boolean | undefined
> & { readonly _zod: { readonly optin: 'optional' } };

/** A setting that is one variable of the functions: the host defines its default and limits. */
function variable<Name extends keyof Environment>(name: Name): Spelled<Name> {
  const schema: z.ZodType = EnvironmentSchema.shape[name];
  return z
    .preprocess((value) => (isScalar(value) ? String(value) : value), schema)
    .describe(schema.description ?? '') as unknown as Spelled<Name>;
}

/** The variable's name, before the problem. */
const PLACE = /^\w+(: | ▸ )/;

/** The text of a secret variable, validated as the functions do when they start. */
function secret(name: keyof Environment, what: string) {
  return z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .superRefine((value, context) => {
      if (isUnknown(value)) return;
      for (const fault of variableFaults(name, value)) context.addIssue(fault.replace(PLACE, ''));
    })
    .optional()
    .describe(what);
}

const isScalar = (value: unknown): value is string | number | boolean =>
  ['string', 'number', 'boolean'].includes(typeof value);

const Namespaces = {
  previews: label
    .default('agentweaver')
    .describe('Namespace of previews and sandboxes, without other pods if possible'),
  gateway: label.default('agentweaver').describe('Namespace of the shared Gateway'),
  functions: label
    .default('porthole')
    .describe(
      'Namespace of the functions, separate from the sandboxes; the quotas make room for them if it is not',
    ),
  existing: z
    .array(label)
    .default([])
    .describe('Which of the three exist already: they are neither created nor deleted'),
};

const Preview = {
  upstream: variable('Sandbox__Preview__Upstream'),
  idleTimeoutMinutes: variable('Sandbox__Preview__IdleTimeoutMinutes'),
  maxLifetimeHours: variable('Sandbox__Preview__MaxLifetimeHours'),
  keepAfterRun: variable('Sandbox__Preview__KeepAfterRun'),
  allowedPortMin: variable('Sandbox__Preview__AllowedPortMin'),
  allowedPortMax: variable('Sandbox__Preview__AllowedPortMax'),
  autoApprove: variable('Sandbox__Preview__AutoApprove'),
  maxPerRun: variable('Sandbox__Preview__MaxPerRun'),
  maxTotal: variable('Sandbox__Preview__MaxTotal'),
  readyTimeoutSeconds: variable('Sandbox__Preview__ReadyTimeoutSeconds'),
  access: z
    .enum(ACCESS_LEVELS)
    .optional()
    .describe(
      'Who may open a preview if its owner has set nothing: owner, org, signed_in, password or link (everyone who has its URL); without it `org` if `oidc` or `apiKeys` lets people sign in, otherwise `link`',
    ),
  maxAccess: variable('Sandbox__Preview__MaxAccess'),
  reportContact: variable('Sandbox__Preview__ReportContact'),
  maxWakesPerLink: variable('Sandbox__Preview__MaxWakesPerLink'),
  maxWakesPerOwner: variable('Sandbox__Preview__MaxWakesPerOwner'),
  maxNamesPerOwner: variable('Sandbox__Preview__MaxNamesPerOwner'),
};

/** The variable of a setting in `preview`. */
export function previewVariable(key: string): string {
  return `Sandbox__Preview__${key.charAt(0).toUpperCase()}${key.slice(1)}`;
}

const object = z.record(z.string(), z.unknown());
const { nodeSelector, tolerations } = SandboxPodSchema.shape;

/** Where the scheduler puts pods of the functions; each key as in a PodSpec. */
const Placement = z.strictObject({
  nodeSelector: nodeSelector.describe('Node labels that the pods require'),
  tolerations: tolerations.describe('Tolerations, as in a PodSpec'),
  affinity: object.optional().describe('Affinity, as in a PodSpec'),
  priorityClassName: label.optional().describe('PriorityClass; it must exist'),
  runtimeClassName: label.optional().describe('RuntimeClass; it must exist'),
  topologySpreadConstraints: z
    .array(z.looseObject({ maxSkew: whole(1, 100), topologyKey: text, whenUnsatisfiable: text }))
    .optional()
    .describe('Topology spread constraints, as in a PodSpec; over nodes and zones by default'),
});

const Functions = {
  placement: Placement.prefault({}),
  image: ofRelease(RELEASE_IMAGES['functions']).describe(
    'Image of the function host; pin it by digest in production. The package of a release has that of the release as the default',
  ),
  replicas: whole(1, 100).default(2).describe('Initial number of pods; afterwards the autoscaler decides'),
  maxReplicas: whole(1, 100).default(10).describe('Maximum number of pods of the autoscaler'),
  cpu: cpu.prefault('250m').describe('CPU request of a pod'),
  memory: size.prefault('512Mi').describe('Memory request and limit of a pod'),
  logLevel: variable('LOG_LEVEL'),
  featuresOff: z
    .array(z.enum(OPTIONAL_FEATURES))
    .default([])
    .describe(
      `Features that are switched off: any of ${OPTIONAL_FEATURES.map((name) => `\`${name}\``).join(', ')}. What they have stored stays`,
    ),
  pullSecret: label.optional().describe("Image pull Secret in the functions' namespace; it must exist"),
  databaseCa: certificate
    .optional()
    .describe(
      'PEM of the authority that signed the certificate of PostgreSQL; mounted at `/etc/porthole/database/ca.crt`',
    ),
  allowFrom: z
    .array(
      z.strictObject({
        namespace: label,
        podLabels: podLabels.optional(),
      }),
    )
    .default([])
    .describe(
      "Other pods that may connect to the API's port, e.g. Prometheus: `{namespace, podLabels?}` each; without `podLabels` all pods of the namespace",
    ),
  egressPorts: z
    .array(whole(1, 65_535))
    .default([443, 6_443, 5_432])
    .describe(
      'Ports that its pods and the scheduled jobs may call anywhere: of the API server (of its pods or nodes, not of the Service), the database, the identity provider and the archives',
    ),
  existingSecret: label
    .optional()
    .describe(
      'Secret that is managed elsewhere, with DATABASE_URL, PORTHOLE_SIGNING_KEYS and so on; replaces the secret settings below',
    ),
};

const Oidc = z.strictObject({
  issuer: httpUrl.describe('OpenID Connect issuer of accepted bearer tokens'),
  audience: text.describe('Required audience of the tokens'),
  orgClaim: variable('OIDC_ORG_CLAIM'),
  adminClaim: variable('OIDC_ADMIN_CLAIM'),
  clientId: text
    .optional()
    .describe(
      'Client ID for sign-in to the console; its redirect URI is `https://{apiHost}/api/session/oidc/callback`',
    ),
});

const Template = z.strictObject({
  image: imageReference.describe('Image of the sandbox'),
  cpu: cpu.prefault(TEMPLATE_SIZE.cpu).describe('CPU limit'),
  memory: size.prefault(TEMPLATE_SIZE.memory).describe('Memory limit'),
  storage: size.prefault(TEMPLATE_SIZE.storage).describe('Size of `/workspace`'),
  runtimeClassName: label
    .optional()
    .describe('RuntimeClass of its sandboxes; `sandboxes.runtimeClassName` by default'),
  priorityClassName: label
    .optional()
    .describe('PriorityClass of its sandboxes; `sandboxes.priorityClassName` by default'),
  pod: SandboxPodSchema.optional().describe('Pod settings of its sandboxes; they replace `sandboxes.pod`'),
});

const WarmPool = z.strictObject({
  template: label.describe('Its SandboxTemplate, a key of `templates`'),
  replicas: whole(0, 100)
    .default(0)
    .describe('Sandboxes that are kept ready; 0 keeps none, and a claim waits for a new one'),
});

const CatalogueImage = z.strictObject({
  reference: imageReference.describe(
    "Image reference, preferably with a digest; for `agent-sandbox` the image of a warm pool's template",
  ),
  description: z.string().optional().describe('Purpose of the image'),
  languages: z.array(text).optional().describe('Programming languages in the image'),
  cpu: z
    .number()
    .min(0.1)
    .max(1_024)
    .optional()
    .describe('Default CPU cores of its sandboxes; at most 2 with `kubernetes`'),
  memoryMb: whole(64, 16_777_216)
    .optional()
    .describe('Default memory of its sandboxes, in MiB; at most 2048 with `kubernetes`'),
  diskMb: whole(16, 16_777_216)
    .optional()
    .describe('Default size of `/workspace`, in MiB; at most 10240 with `kubernetes`'),
});

const Sandboxes = {
  provider: z
    .enum(['kubernetes', 'agent-sandbox', 'auto'])
    .optional()
    .describe(
      'Provider of sandboxes: by default `agent-sandbox` if a warm pool is configured, else `kubernetes`. `auto` checks at each start whether the cluster has agent-sandbox',
    ),
  image: imageReference.optional().describe('Default image of sandboxes; required with `kubernetes`'),
  images: z
    .record(label, CatalogueImage)
    .default({})
    .describe(
      'Catalogue of images that can be requested by name; the templates of warm pools are listed in it under their names',
    ),
  storageClass: objectName
    .optional()
    .describe('StorageClass of `/workspace`; by default that of the cluster'),
  warmPool: label
    .optional()
    .describe(
      'SandboxWarmPool of sandboxes that request no image; required if `warmPools` has more than one',
    ),
  templates: z.record(label, Template).prefault({}).describe('SandboxTemplates of agent-sandbox, by name'),
  warmPools: z.record(label, WarmPool).default({}).describe('SandboxWarmPools, by name'),
  warmPoolTarget: whole(0, 100)
    .default(0)
    .describe(
      'Number of sandboxes without a requested image that are kept ready. Applied every minute, can be changed by the API, and replaces the `replicas` of their pool; 0 keeps the `replicas`',
    ),
  egress: z
    .array(addressRange)
    .default([])
    .describe(
      'Address ranges that sandboxes may reach; none by default. Metadata addresses are always blocked',
    ),
  channel: z
    .boolean()
    .default(true)
    .describe('Whether sandboxes may reach the one port of the functions that the `porthole` command uses'),
  pullSecret: label
    .optional()
    .describe("Image pull Secret of sandboxes in the previews' namespace; it must exist"),
  runtimeClassName: label.optional().describe('RuntimeClass of all sandboxes, e.g. gvisor; it must exist'),
  hostUsers: z
    .boolean()
    .default(true)
    .describe(
      "Whether sandboxes share the node's user namespace; `false` needs Kubernetes 1.33 and a runtime with user namespaces (containerd 2)",
    ),
  guestImage: imageReference
    .optional()
    .describe(
      'Image from which an init container copies `/porthole` into each sandbox; without it, images of sandboxes must contain the guest',
    ),
  guestKeys: orOutput(
    z.string().regex(/^[\w-]{43}(,[\w-]{43})*$/, 'must be what `npm run config -- guest-keys` prints'),
  )
    .optional()
    .describe(
      'Public keys that guests of `templates` accept, as `npm run config -- guest-keys` prints them; by default those of `signingKeys`',
    ),
  priorityClassName: label.optional().describe('PriorityClass of all sandboxes; it must exist'),
  pod: group(SandboxPodSchema.shape),
  maxTotal: whole(1, 100_000)
    .default(100)
    .describe('Maximum number of sandboxes of all users together, including stopped ones'),
  otherPods: whole(0, 100_000)
    .default(0)
    .describe(
      "Number of other pods and volumes in the previews' namespace, which the quota adds; only if the functions create pods",
    ),
  otherRoutes: whole(0, 100_000)
    .default(0)
    .describe("Number of other HTTPRoutes in the previews' namespace, which the quota adds"),
};

const Broker = z.strictObject({
  replicas: whole(1, 100).default(2).describe('Number of its pods; open connections end with their pod'),
  cpu: cpu.prefault('250m').describe('CPU request of a pod'),
  memory: size.prefault('512Mi').describe('Memory request and limit of a pod'),
  egress: z
    .array(addressRange)
    .default([])
    .describe(
      'Address ranges that its pods may reach besides the internet: those of the database, of the API server (`kubectl get endpoints kubernetes`), and of PORTHOLE_NETWORK_PRIVATE_ALLOW',
    ),
});

const Browsers = z.strictObject({
  image: ofRelease(RELEASE_IMAGES['browsers']).describe(
    'Image of the browsers (`images/browsers`); pin it by digest in production. The package of a release has that of the release as the default',
  ),
  replicas: whole(1, 100).default(2).describe('Number of its pods; looks end with their pod'),
  pages: whole(1, 64)
    .default(4)
    .describe(
      'Pages that a pod opens at a time; others wait. Its memory limit is 1 GiB, and 512 MiB for each of them',
    ),
  cpu: cpu.prefault('1').describe('CPU request of a pod; four pages at a time need two cores'),
  memory: size.prefault('1Gi').describe('Memory request of a pod'),
  egress: z
    .array(addressRange)
    .default([])
    .describe(
      "Address ranges of the gateway besides its own pods, e.g. of its load balancer, which the browsers may reach at the gateway's port",
    ),
  seccompProfile: z
    .string()
    .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*(\/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$/, 'must be a relative path')
    .optional()
    .describe(
      "Seccomp profile below the kubelet's folder on every node that permits user namespaces, for Chromium's own sandbox; without it the profile is RuntimeDefault and the pod alone confines pages",
    ),
});

const Archives = z.strictObject({
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .describe(
      'Bucket for archives of workspaces, written before a sandbox is destroyed after its retention; without it there are no archives',
    ),
  endpoint: httpUrl.optional().describe('Origin of its S3 server; AWS by default'),
  region: variable('PORTHOLE_ARCHIVE_REGION'),
  existingSecret: label
    .optional()
    .describe(
      "Secret in the functions' namespace that is managed elsewhere, with PORTHOLE_ARCHIVE_ACCESS_KEY_ID and PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY; replaces the two secret settings below",
    ),
});

/** Every key of a stack file, without its `porthole:`. */
export const StackConfigSchema = z.strictObject({
  zone: dnsName.describe('Domain of previews, `{token}-preview.{zone}`; use a separate registrable domain'),
  apiHost: dnsName.describe('Host of the API and the console, outside the zone'),
  context: text.optional().describe('Context of the kubeconfig; the current context by default'),
  namespaces: group(Namespaces),
  gateway: z.strictObject(Gateway),
  zones: z
    .array(Zone)
    .default([])
    .describe(
      'Further zones: `{zone, orgs, access?, maxAccess?, gateway?}` each. Their proxies are those of `gateway.podLabels`',
    ),
  certificates: group(Certificates),
  preview: group(Preview),
  functions: z.strictObject(Functions),
  oidc: Oidc.optional(),
  sandboxes: group(Sandboxes),
  broker: Broker.optional().describe(
    'Makes the connections of sandboxes, which then have no other way out; without it the network of a sandbox is off or open',
  ),
  browsers: Browsers.optional().describe(
    'Opens previews for `look` and `check`; without it they answer 501 `browser_missing`',
  ),
  archives: Archives.optional(),
  environment: z
    .record(text, z.union([z.string(), z.number(), z.boolean(), object, z.array(z.unknown())]))
    .default({})
    .describe(
      'Other variables of the functions by name, without secrets; `npm run config` lists them. With `kubernetes`, PORTHOLE_SANDBOX_CPUS is at most 2, PORTHOLE_SANDBOX_MEMORY_MIB 2048',
    ),
  databaseUrl: secret('DATABASE_URL', 'URL of PostgreSQL (secret); required with more than one replica'),
  signingKeys: secret(
    'PORTHOLE_SIGNING_KEYS',
    'JWKS of symmetric keys; the first one signs (secret). Required',
  ),
  serviceKey: z
    .string()
    .trim()
    .min(MIN_KEY_LENGTH, `must have at least ${MIN_KEY_LENGTH} characters`)
    .optional()
    .describe(`API key with admin rights, at least ${MIN_KEY_LENGTH} characters (secret)`),
  apiKeys: secret('PORTHOLE_API_KEYS', 'API keys of users, JSON `{key: {user, org, admin?}}` (secret)'),
  oidcClientSecret: secret('OIDC_CLIENT_SECRET', 'Client secret of `oidc.clientId`, if it has one (secret)'),
  archiveAccessKeyId: secret(
    'PORTHOLE_ARCHIVE_ACCESS_KEY_ID',
    'Access key ID for the bucket of archives (secret); required with `archives`',
  ),
  archiveSecretAccessKey: secret(
    'PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY',
    'Secret access key for the bucket of archives (secret)',
  ),
  secretEnvironment: z
    .record(text, z.union([z.string(), object]))
    .optional()
    .describe('Variables with secrets that have no setting above, by name, e.g. PORTHOLE_BUCKETS (secret)'),
});

export type StackConfig = z.infer<typeof StackConfigSchema>;

/** The Gateway of a further zone. */
export type ZoneGateway = StackConfig['zones'][number]['gateway'];

/** Keys of the Secret that every pod of the stack takes its environment from. */
export const FUNCTIONS_SECRET_KEYS = [
  'databaseUrl',
  'signingKeys',
  'serviceKey',
  'apiKeys',
  'oidcClientSecret',
  'secretEnvironment',
] as const;

/** Keys of secrets: clear text is refused. */
export const SECRET_KEYS = [
  ...FUNCTIONS_SECRET_KEYS,
  'archiveAccessKeyId',
  'archiveSecretAccessKey',
] as const;

/** What sets a secret, before its key. */
export const SET_SECRET = 'set it with: pulumi config set --secret';
