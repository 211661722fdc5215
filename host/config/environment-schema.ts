import { z } from 'zod';
import { JwksSchema } from '#adapters/keys/key-set.ts';
import { BucketsSchema, MountEndpointsSchema } from './buckets-schema.ts';

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
  z.string().min(16, 'a key needs at least 16 characters'),
  z.strictObject({ user: text, org: text, admin: z.boolean().default(false) }),
);

/**
 * Every variable that Porthole reads, under its exact name. `npm run config` prints it. The reference's own keys keep their names, with `__` for `:`.
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
      ['local', 'kubernetes', 'agent-sandbox', 'auto'],
      'must be local, kubernetes, agent-sandbox or auto',
    )
    .default('local')
    .describe(
      'Where sandboxes live: processes on this machine, pods of a cluster, or claims on its warm pools; auto: agent-sandbox where the cluster has it, else kubernetes',
    ),
  PORTHOLE_SANDBOX_IMAGE: text
    .optional()
    .describe('kubernetes: image of sandboxes that ask for none; required there'),
  PORTHOLE_SANDBOX_STORAGE_CLASS: text
    .optional()
    .describe("kubernetes: storage class of /workspace; without it the cluster's default"),
  PORTHOLE_WARM_POOL: text
    .optional()
    .describe('agent-sandbox: SandboxWarmPool of sandboxes that ask for no image; required there'),
  PORTHOLE_WARM_POOLS_BY_IMAGE: json(z.record(text, text))
    .default({})
    .describe('agent-sandbox: SandboxWarmPools by the image that they give, JSON {image: pool}'),
  PORTHOLE_GATEWAY_LISTENER: text
    .optional()
    .describe("The Gateway's listener for previews; without it every one whose hostname fits"),
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
      'In a cluster: where sandboxes reach that port, e.g. http://porthole.porthole.svc:8788; they are told the address behind the name',
    ),
  PORTHOLE_PUBLIC_URL: httpUrl
    .optional()
    .describe('Where people reach Porthole, if a proxy stands in front, e.g. https://porthole.example.com'),
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
    .describe('The key of the service itself (an admin)'),
  PORTHOLE_API_KEYS: json(ApiKeys).optional().describe('Keys of people, JSON {key: {user, org, admin?}}'),
  OIDC_ISSUER: httpUrl
    .optional()
    .describe('OpenID Connect issuer whose bearer tokens are accepted; needs OIDC_AUDIENCE'),
  OIDC_AUDIENCE: text.optional().describe('The audience those tokens must name'),
  OIDC_ORG_CLAIM: text.default('org').describe('The claim that names the org'),
  OIDC_ADMIN_CLAIM: text.default('admin').describe('The claim that is true for admins'),
  PORTHOLE_SIGNING_KEYS: json(JwksSchema)
    .optional()
    .describe('JWKS of symmetric keys; the first signs. Required with DATABASE_URL'),
  PORTHOLE_BUCKETS: json(BucketsSchema)
    .default({})
    .describe(
      'Buckets that callers may mount by name, JSON {name: {bucket, endpoint, region?, prefix?, read_only?, access_key_id?, secret_access_key?}}',
    ),
  PORTHOLE_MOUNT_ENDPOINTS: MountEndpointsSchema.optional().describe(
    'S3 servers whose buckets every user may mount, origins separated by commas, * for a label; without it AWS, R2 and GCS with keys of their own. Admins may mount from any',
  ),
  AWS_ACCESS_KEY_ID: z.string().optional().describe('With AWS_SECRET_ACCESS_KEY: for mounts without keys'),
  AWS_SECRET_ACCESS_KEY: z.string().optional().describe('See AWS_ACCESS_KEY_ID'),
  R2_ACCESS_KEY_ID: z
    .string()
    .optional()
    .describe('With R2_SECRET_ACCESS_KEY: for mounts without keys, where the AWS ones are not set'),
  R2_SECRET_ACCESS_KEY: z.string().optional().describe('See R2_ACCESS_KEY_ID'),
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
/** The variables, parsed. */
export type Environment = z.infer<typeof EnvironmentSchema>;
