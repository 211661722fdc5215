import { z } from 'zod';
import { JwksSchema } from '#adapters/keys/key-set.ts';
import type { PreviewOptions } from '#core/preview-options.ts';
import { closestName } from './closest-name.ts';

/** A configuration that cannot be used: every problem, one line each. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n${problems.map((line) => `  - ${line}`).join('\n')}`,
    );
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

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
  PORTHOLE_PROVIDER: z.enum(['local'], 'must be local').default('local').describe('Where sandboxes live'),
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
type Environment = z.infer<typeof EnvironmentSchema>;

/** Read once at the start, frozen, and passed down. */
export interface Config {
  readonly port: number;
  readonly host: string;
  readonly dataDir: string;
  readonly provider: 'local';
  readonly publicUrl: URL | undefined;
  readonly allowedHosts: readonly string[];
  readonly databaseUrl: string | undefined;
  readonly serviceKey: string | undefined;
  readonly apiKeys: Readonly<
    Record<string, { readonly user: string; readonly org: string; readonly admin: boolean }>
  >;
  readonly oidc:
    | {
        readonly issuer: string;
        readonly audience: string;
        readonly orgClaim: string;
        readonly adminClaim: string;
      }
    | undefined;
  readonly signingKeys: z.infer<typeof JwksSchema> | undefined;
  readonly logLevel: Environment['LOG_LEVEL'];
  readonly preview: PreviewOptions;
}

/** @throws ConfigError naming every problem at once */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [...unknownNames(environment)];
  const read: Record<string, unknown> = {};
  // One by one, so that a bad variable does not hide what is wrong between the others.
  for (const [name, schema] of Object.entries(EnvironmentSchema.shape)) {
    const { success, data, error } = schema.safeParse(environment[name]);
    if (success) read[name] = data;
    else problems.push(...error.issues.map((issue) => `${place(name, issue.path)}: ${messageOf(issue)}`));
  }
  problems.push(...contradictions(read, environment));
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(shape(read as Environment));
}

/** zod hides what is wrong with a key of a record behind a sentence of its own. */
function messageOf(issue: z.core.$ZodIssue): string {
  return issue.code === 'invalid_key' ? issue.issues.map(({ message }) => message).join(', ') : issue.message;
}

/** Where a problem is; never the key that it is about. */
function place(name: string, path: readonly PropertyKey[]): string {
  const inner = name === 'PORTHOLE_API_KEYS' && path.length > 0 ? ['(a key)', ...path.slice(1)] : path;
  return [name, ...inner.map(String)].join(' ▸ ');
}

function shape(env: Environment): Config {
  return {
    port: env.PORT,
    host: env.HOST,
    dataDir: env.PORTHOLE_DATA_DIR,
    provider: env.PORTHOLE_PROVIDER,
    publicUrl: env.PORTHOLE_PUBLIC_URL === undefined ? undefined : new URL(env.PORTHOLE_PUBLIC_URL),
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
          },
    signingKeys: env.PORTHOLE_SIGNING_KEYS,
    logLevel: env.LOG_LEVEL,
    preview: Object.freeze({
      enabled: env.Sandbox__Preview__Enabled,
      zoneSuffix: env.Sandbox__Preview__ZoneSuffix,
      gatewayName: env.Sandbox__Preview__GatewayName,
      gatewayNamespace: env.Sandbox__Preview__GatewayNamespace,
      namespace: env.Sandbox__Preview__Namespace,
      idleTimeoutMinutes: env.Sandbox__Preview__IdleTimeoutMinutes,
      maxLifetimeHours: env.Sandbox__Preview__MaxLifetimeHours,
      keepAfterRun: env.Sandbox__Preview__KeepAfterRun,
      allowedPortMin: env.Sandbox__Preview__AllowedPortMin,
      allowedPortMax: env.Sandbox__Preview__AllowedPortMax,
      autoApprove: env.Sandbox__Preview__AutoApprove || env.SANDBOX_PREVIEW_AUTO_APPROVE === true,
      maxPerRun: env.Sandbox__Preview__MaxPerRun,
      maxTotal: env.Sandbox__Preview__MaxTotal,
      readyTimeoutSeconds: env.Sandbox__Preview__ReadyTimeoutSeconds,
    }),
  };
}

/** What must turn up nowhere: not in a log, not in an answer. */
export function secretsOf({ serviceKey, apiKeys, signingKeys }: Config): readonly string[] {
  return [
    ...(serviceKey === undefined ? [] : [serviceKey]),
    ...Object.keys(apiKeys),
    ...(signingKeys?.keys.map(({ k }) => k) ?? []),
  ];
}

/** Problems between variables that are each fine alone. */
function contradictions(
  env: Partial<Environment>,
  given: Readonly<Record<string, string | undefined>>,
): string[] {
  const problems: string[] = [];
  // As given: a key that cannot be read has its own line already.
  const isSecured =
    given['SANDBOX_API_KEY'] !== undefined ||
    given['PORTHOLE_API_KEYS'] !== undefined ||
    given['OIDC_ISSUER'] !== undefined;
  if (!isSecured && env.HOST !== undefined && !isLoopback(env.HOST)) {
    problems.push(
      `HOST: ${env.HOST} is not a loopback address, and nothing is configured to tell callers apart: set SANDBOX_API_KEY, PORTHOLE_API_KEYS or OIDC_ISSUER, or listen on 127.0.0.1`,
    );
  }
  if ((given['OIDC_ISSUER'] === undefined) !== (given['OIDC_AUDIENCE'] === undefined)) {
    problems.push('OIDC_ISSUER and OIDC_AUDIENCE: set both or neither');
  }
  if (given['DATABASE_URL'] !== undefined && given['PORTHOLE_SIGNING_KEYS'] === undefined) {
    problems.push(
      'PORTHOLE_SIGNING_KEYS: required with DATABASE_URL, so that every instance signs with the same keys',
    );
  }
  const { Sandbox__Preview__AllowedPortMin: min, Sandbox__Preview__AllowedPortMax: max } = env;
  if (min !== undefined && max !== undefined && min > max) {
    problems.push(
      `Sandbox__Preview__AllowedPortMin: ${min} is above Sandbox__Preview__AllowedPortMax (${max})`,
    );
  }
  return problems;
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/** Variables under our prefixes that nobody reads: most likely a typing error, which silence would hide. */
function unknownNames(environment: Readonly<Record<string, string | undefined>>): string[] {
  const known = Object.keys(EnvironmentSchema.shape);
  return Object.keys(environment)
    .filter(
      (name) =>
        /^(PORTHOLE_|SANDBOX_PREVIEW_|Sandbox__)/i.test(name) &&
        !known.includes(name) &&
        !ELSEWHERE.has(name),
    )
    .map((name) => {
      const close = closestName(name, known);
      return `${name}: not a setting of Porthole${close === undefined ? ' (npm run config lists them)' : `; did you mean ${close}?`}`;
    });
}

/** Ours, but read by the tests' tools and not by the host. */
const ELSEWHERE = new Set(['PORTHOLE_CACHE_DIR']);
