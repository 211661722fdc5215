import { z } from 'zod';
import { TEMPLATE_SIZE } from '../constructs/agent-sandbox-manifests.ts';
import { MIN_KEY_LENGTH } from '../core/callers.ts';
import { reachesMetadataOnly } from '../core/auth/address-range.ts';
import { variableFaults } from '../host/config/config.ts';
import { type Environment, EnvironmentSchema, SandboxPodSchema } from '../host/config/environment-schema.ts';

const text = z.string().trim().min(1, 'must not be empty');
const whole = (min: number, max: number) => {
  const message = `must be a whole number from ${min} to ${max}`;
  return z.int(message).min(min, message).max(max, message);
};
/** RFC 1123: names of namespaces, Secrets, templates. */
const label = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a lower-case DNS label of at most 63 characters');
const dnsName = z
  .string()
  .regex(
    /^(?=.{1,200}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/,
    'must be a lower-case DNS name of two labels or more',
  );
const quantity = z
  .string()
  .regex(/^\d+(\.\d+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/, 'must be a Kubernetes quantity, e.g. 500m or 1Gi');
const addressRange = z
  .union([z.cidrv4(), z.cidrv6()], 'must be an address range, e.g. 203.0.113.0/24')
  .refine(
    (range) => !reachesMetadataOnly(range),
    'holds nothing but metadata addresses, which no sandbox may ever reach',
  );
const certificate = z
  .string()
  .regex(
    /^\s*-----BEGIN CERTIFICATE-----\s[\s\S]*-----END CERTIFICATE-----\s*$/,
    'must be certificates in PEM',
  );
const group = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape).prefault({} as never);

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
      for (const fault of variableFaults(name, value)) context.addIssue(fault.replace(PLACE, ''));
    })
    .optional()
    .describe(what);
}

const isScalar = (value: unknown): value is string | number | boolean =>
  ['string', 'number', 'boolean'].includes(typeof value);

const Namespaces = {
  previews: label.default('agentweaver').describe('Where previews and sandboxes live'),
  gateway: label.default('agentweaver').describe('Where the shared Gateway lives'),
  functions: label
    .default('porthole')
    .describe('Where the functions live, apart from what sandboxes could touch'),
  existing: z
    .array(label)
    .default([])
    .describe('Those of the three that stand already: neither made nor deleted here'),
};

const notes = z.record(text, z.string()).default({});

const ExistingGateway = z.strictObject({
  name: label.describe('Name of a Gateway that others keep; nothing of it is changed here'),
  namespace: label.describe('Its namespace'),
  sectionName: label.describe('Its listener for `*.{zone}`, which admits routes of both namespaces'),
  apiSectionName: label
    .optional()
    .describe("Its listener for the API's host; by default, all listeners with a matching hostname"),
});

const Gateway = {
  existing: ExistingGateway.optional(),
  name: label.default('agentweaver-preview-gateway').describe('Name of the Gateway that is created'),
  className: label.optional().describe('GatewayClass that serves it; required without `gateway.existing`'),
  annotations: notes.describe('Annotations of the Gateway, e.g. for external-dns'),
  labels: notes.describe('Labels of the Gateway'),
  infrastructure: z
    .strictObject({
      annotations: notes.describe("Annotations of the gateway's Service, e.g. for an internal load balancer"),
      labels: notes.describe("Labels of the gateway's Service and pods"),
      parametersRef: z
        .strictObject({ group: text, kind: text, name: text })
        .optional()
        .describe("Object with the controller's own parameters: `{group, kind, name}`"),
    })
    .optional(),
  addresses: z
    .array(z.strictObject({ type: text.default('IPAddress'), value: text }))
    .default([])
    .describe('Addresses to ask for: `{type?, value}` each; any by default'),
  port: whole(1, 65_535).default(443).describe('Port that people reach the gateway at, as URLs name it'),
  listenerPort: whole(1, 65_535)
    .optional()
    .describe(
      "Port of the Gateway's listeners, where that is not `port`: Traefik's chart listens at 8443 behind port 443 of its Service",
    ),
  podNamespace: label.describe("Namespace of the gateway's own pods: the only ones let in to sandboxes"),
  podLabels: z
    .record(text, z.string())
    .refine((labels) => Object.keys(labels).length > 0, 'must name a label or more')
    .describe("Labels of the gateway's own pods"),
  serviceKind: z
    .enum(['headless', 'clusterip'])
    .default('headless')
    .describe("Service of a preview: `headless`, or `clusterip` for gateways that dial a Service's address"),
  probe: z
    .strictObject({
      url: z
        .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
        .describe(
          "Where the functions reach the gateway's proxies, best by a headless Service, e.g. `https://traefik.traefik.svc`; without it they go by what the gateway says of a route",
        ),
      ca: certificate
        .optional()
        .describe("PEM of the authority behind the gateway's certificate, where no system knows it"),
    })
    .optional(),
};

const Certificates = {
  previewSecret: label
    .default('porthole-preview-tls')
    .describe("TLS Secret for `*.{zone}`, in the Gateway's namespace"),
  apiSecret: label
    .default('porthole-api-tls')
    .describe("TLS Secret for the API's host, in the Gateway's namespace"),
  issuer: z
    .strictObject({
      name: label.describe('cert-manager issuer that fills both Secrets; without it they stand already'),
      kind: z.enum(['ClusterIssuer', 'Issuer']).default('ClusterIssuer').describe('Its kind'),
    })
    .optional(),
};

/** Variables of previews that other settings set. */
const DECIDED = ['Enabled', 'ZoneSuffix', 'GatewayName', 'GatewayNamespace', 'Namespace'] as const;
const PREVIEW = 'Sandbox__Preview__';

type PreviewShape = {
  [Name in keyof Environment as Name extends `${typeof PREVIEW}${infer Rest}`
    ? Rest extends (typeof DECIDED)[number]
      ? never
      : Uncapitalize<Rest>
    : never]: Spelled<Name>;
};

/** Every other variable of previews, its name in lower camel case. */
const Preview = Object.fromEntries(
  (Object.keys(EnvironmentSchema.shape) as (keyof Environment)[])
    .filter((name) => name.startsWith(PREVIEW) && !DECIDED.some((each) => name === PREVIEW + each))
    .map((name) => {
      const [first = '', ...rest] = name.slice(PREVIEW.length);
      return [first.toLowerCase() + rest.join(''), variable(name)];
    }),
) as unknown as PreviewShape;

/** The variable of a setting in `preview`. */
export function previewVariable(key: string): string {
  return PREVIEW + key.charAt(0).toUpperCase() + key.slice(1);
}

const object = z.record(z.string(), z.unknown());
const { nodeSelector, tolerations } = SandboxPodSchema.shape;

/** Where the scheduler puts pods of the functions; each key as in a PodSpec. */
const Placement = z.strictObject({
  nodeSelector: nodeSelector.describe('Labels of the nodes that they run on'),
  tolerations: tolerations.describe('Taints that they tolerate, as in a PodSpec'),
  affinity: object.optional().describe('Affinity, as in a PodSpec'),
  priorityClassName: label.optional().describe('PriorityClass; it exists already'),
  runtimeClassName: label.optional().describe('RuntimeClass; it exists already'),
  topologySpreadConstraints: z
    .array(z.looseObject({ maxSkew: whole(1, 100), topologyKey: text, whenUnsatisfiable: text }))
    .optional()
    .describe('Spread, as in a PodSpec; over nodes and zones by default'),
});

const Functions = {
  placement: Placement.prefault({}),
  image: text.describe('Image of the function host; pinned by digest in production'),
  replicas: whole(1, 100).default(2).describe('Pods at first; afterwards the autoscaler decides'),
  maxReplicas: whole(1, 100).default(10).describe('Most pods the autoscaler may run'),
  cpu: quantity.default('250m').describe('CPU that a pod requests'),
  memory: quantity.default('512Mi').describe('Memory that a pod requests and may use'),
  logLevel: variable('LOG_LEVEL'),
  pullSecret: label
    .optional()
    .describe("Secret in the functions' namespace that their image is pulled with; it must exist"),
  databaseCa: certificate
    .optional()
    .describe(
      'PEM of the authority behind the certificate of PostgreSQL; mounted at `/etc/porthole/database/ca.crt`',
    ),
  allowFrom: z
    .array(
      z.strictObject({
        namespace: label,
        podLabels: z.record(text, z.string()).optional(),
      }),
    )
    .default([])
    .describe(
      "Pods besides the gateway's that may call the API's port, e.g. Prometheus: `{namespace, podLabels?}` each; without `podLabels` all of the namespace",
    ),
  existingSecret: label
    .optional()
    .describe(
      'Secret with DATABASE_URL, PORTHOLE_SIGNING_KEYS and the like, kept by others, instead of the secret keys below',
    ),
};

const Oidc = z.strictObject({
  issuer: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .describe('OpenID Connect issuer of accepted bearer tokens'),
  audience: text.describe('The audience those tokens must name'),
  orgClaim: text.default('org').describe('The claim that names the org'),
  adminClaim: text.default('admin').describe('The claim that is true for admins'),
  clientId: text
    .optional()
    .describe(
      'The client as which people sign in to the console; its redirect URI is `https://{apiHost}/api/session/oidc/callback`',
    ),
});

const Template = z.strictObject({
  image: text.describe('Image of the sandbox'),
  cpu: quantity.default(TEMPLATE_SIZE.cpu).describe('CPU limit'),
  memory: quantity.default(TEMPLATE_SIZE.memory).describe('Memory limit'),
  storage: quantity.default(TEMPLATE_SIZE.storage).describe('Size of `/workspace`'),
  runtimeClassName: label
    .optional()
    .describe('RuntimeClass of its sandboxes; that of `sandboxes.runtimeClassName` by default'),
  priorityClassName: label
    .optional()
    .describe('PriorityClass of its sandboxes; that of `sandboxes.priorityClassName` by default'),
  pod: SandboxPodSchema.optional().describe('Replaces `sandboxes.pod` for its sandboxes'),
});

const WarmPool = z.strictObject({
  template: label.describe('Its SandboxTemplate, a key of `templates`'),
  replicas: whole(0, 100)
    .default(0)
    .describe('Sandboxes kept ready; 0 makes claims of the template possible without any'),
});

const CatalogueImage = z.strictObject({
  reference: text.describe(
    "What is pulled, best by digest; of `agent-sandbox` the image of a warm pool's template",
  ),
  description: z.string().optional().describe('What it is for'),
  languages: z.array(text).optional().describe('What one can write in it'),
  cpu: z.number().min(0.1).max(1_024).optional().describe('Cores of a sandbox that says nothing of them'),
  memoryMb: whole(64, 16_777_216).optional().describe('MiB of memory of a sandbox that says nothing of it'),
  diskMb: whole(16, 16_777_216)
    .optional()
    .describe('MiB of `/workspace` of a sandbox that says nothing of it'),
});

const Sandboxes = {
  provider: z
    .enum(['kubernetes', 'agent-sandbox', 'auto'])
    .optional()
    .describe(
      'What makes sandboxes; `agent-sandbox` where a warm pool is configured, else `kubernetes`. `auto` looks at each start whether the cluster has agent-sandbox',
    ),
  image: text.optional().describe('Image of sandboxes that ask for none; required with `kubernetes`'),
  images: z
    .record(label, CatalogueImage)
    .default({})
    .describe(
      'Catalogue of images that sandboxes may ask for by name; the templates of warm pools are in it under their own names',
    ),
  storageClass: text
    .optional()
    .describe("StorageClass of `/workspace`; the cluster's default where it is not said"),
  warmPool: label
    .optional()
    .describe(
      'SandboxWarmPool of sandboxes that ask for no image; the only one of `warmPools` where it is not said',
    ),
  templates: z.record(label, Template).default({}).describe('SandboxTemplates of agent-sandbox, by name'),
  warmPools: z.record(label, WarmPool).default({}).describe('SandboxWarmPools, by name'),
  warmPoolTarget: whole(0, 100)
    .default(0)
    .describe(
      'Sandboxes that ask for no image to keep ready, brought about each minute and changed by the API, instead of the `replicas` of their pool; 0 leaves the pool to its `replicas`',
    ),
  egress: z
    .array(addressRange)
    .default([])
    .describe('Address ranges that sandboxes may reach; none by default, metadata addresses never'),
  channel: z
    .boolean()
    .default(true)
    .describe(
      'Whether sandboxes reach one port of the functions, for the `porthole` command in them; nothing else is opened',
    ),
  pullSecret: label
    .optional()
    .describe("Secret in the previews' namespace that images of sandboxes are pulled with; it must exist"),
  runtimeClassName: label
    .optional()
    .describe('RuntimeClass of stronger isolation for all sandboxes, e.g. gvisor; it must exist'),
  hostUsers: z
    .boolean()
    .default(true)
    .describe(
      "Whether sandboxes share the node's user namespace; `false` needs Kubernetes 1.33 and a runtime with user namespaces (containerd 2)",
    ),
  guestImage: text
    .optional()
    .describe(
      'Image from which an init container copies `/porthole` into each sandbox; without it images of sandboxes must have the guest',
    ),
  guestKeys: z
    .string()
    .regex(/^[\w-]{43}(,[\w-]{43})*$/, 'must be what `npm run config -- guest-keys` prints')
    .optional()
    .describe(
      'Public keys that guests of `templates` know, as `npm run config -- guest-keys` prints them; those of `signingKeys` where these are set',
    ),
  priorityClassName: label.optional().describe('PriorityClass of all sandboxes; it must exist'),
  pod: group(SandboxPodSchema.shape),
  maxTotal: whole(1, 100_000).default(100).describe('Sandboxes of everybody together, stopped ones included'),
  otherPods: whole(0, 100_000)
    .default(0)
    .describe(
      "Pods, and volumes, of others in the previews' namespace, so that the quota leaves them room; only where the functions make pods",
    ),
  otherRoutes: whole(0, 100_000)
    .default(0)
    .describe("HTTPRoutes of others in the previews' namespace, so that the quota leaves them room"),
};

const Archives = z.strictObject({
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .describe(
      'Bucket in which workspaces are kept as tars before their sandboxes are destroyed after their retention; without it they are not kept',
    ),
  endpoint: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .describe('Origin of its S3 server; without it that of AWS in the region'),
  region: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a region, e.g. eu-west-1')
    .default('us-east-1')
    .describe('Region of the bucket'),
  existingSecret: label
    .optional()
    .describe(
      "Secret in the functions' namespace with PORTHOLE_ARCHIVE_ACCESS_KEY_ID and PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY, kept by others, instead of the two secret keys below",
    ),
});

/** Every key of a stack file, without its `porthole:`. */
export const StackConfigSchema = z.strictObject({
  zone: dnsName.describe('Previews are `{token}-preview.{zone}`; a separate registrable domain'),
  apiHost: dnsName.describe('Host of the API and the console, outside the zone'),
  context: text.optional().describe('Context of the kubeconfig; the current one by default'),
  namespaces: group(Namespaces),
  gateway: z.strictObject(Gateway),
  certificates: group(Certificates),
  preview: group(Preview),
  functions: z.strictObject(Functions),
  oidc: Oidc.optional(),
  sandboxes: group(Sandboxes),
  archives: Archives.optional(),
  environment: z
    .record(text, z.union([z.string(), z.number(), z.boolean(), object, z.array(z.unknown())]))
    .default({})
    .describe('Any other variable of the functions (`npm run config` lists them), by its own name'),
  databaseUrl: secret(
    'DATABASE_URL',
    'PostgreSQL for the records (secret); required with more than one replica',
  ),
  signingKeys: secret('PORTHOLE_SIGNING_KEYS', 'JWKS of symmetric keys, the first signs (secret); required'),
  serviceKey: z
    .string()
    .trim()
    .min(MIN_KEY_LENGTH, `must have at least ${MIN_KEY_LENGTH} characters`)
    .optional()
    .describe(`The key of the service itself, an admin, of at least ${MIN_KEY_LENGTH} characters (secret)`),
  apiKeys: secret('PORTHOLE_API_KEYS', 'Keys of people, JSON `{key: {user, org, admin?}}` (secret)'),
  oidcClientSecret: secret(
    'OIDC_CLIENT_SECRET',
    'Secret of the client of `oidc.clientId`, where the issuer gave it one (secret)',
  ),
  archiveAccessKeyId: secret(
    'PORTHOLE_ARCHIVE_ACCESS_KEY_ID',
    'Who writes to the bucket of archives (secret); required with `archives`',
  ),
  archiveSecretAccessKey: secret('PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY', 'See archiveAccessKeyId (secret)'),
  secretEnvironment: z
    .record(text, z.union([z.string(), object]))
    .optional()
    .describe(
      'Variables that hold secrets and have no setting above, e.g. PORTHOLE_BUCKETS, by their own names (secret)',
    ),
});

export type StackConfig = z.infer<typeof StackConfigSchema>;

/** Keys of the Secret that every pod of the stack takes its environment from. */
export const FUNCTIONS_SECRET_KEYS = [
  'databaseUrl',
  'signingKeys',
  'serviceKey',
  'apiKeys',
  'oidcClientSecret',
  'secretEnvironment',
] as const;

/** Keys that hold secrets: refused in clear text. */
export const SECRET_KEYS = [
  ...FUNCTIONS_SECRET_KEYS,
  'archiveAccessKeyId',
  'archiveSecretAccessKey',
] as const;
