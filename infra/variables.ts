import { closestName } from '../base/closest-name.ts';
import { ConfigError, readEnvironment, variableFaults } from '../protocol/settings/read-environment.ts';
import { type Environment, EnvironmentSchema } from '../protocol/settings/environment-schema.ts';
import { previewVariable, type StackConfig } from './stack-config-schema.ts';
import { CHANNEL_PORT, environmentPlan, secretsPlan, textOf } from './environment.plan.ts';
import { defaultWarmPool, sandboxEnvironmentPlan } from './sandbox-provider.plan.ts';

type Problem = readonly [key: string, problem: string];

/** Variables that the plans also need, each with its setting. */
const SETTING_OF: Readonly<Record<string, string>> = {
  PORTHOLE_PUBLIC_URL: 'apiHost',
  PORTHOLE_CHANNEL_PORT: 'sandboxes.channel',
  PORTHOLE_CHANNEL_URL: 'sandboxes.channel',
  PORTHOLE_BROKER_URL: 'broker',
  PORTHOLE_BROWSERS_URL: 'browsers',
  PORTHOLE_GATEWAY_LISTENER: 'gateway.existing.sectionName',
  PORTHOLE_GATEWAY_KIND: 'gateway.listenerSet',
  PORTHOLE_ZONES: 'zones',
  PORTHOLE_GATEWAY_PORT: 'gateway.port',
  PORTHOLE_GATEWAY_SERVICE_KIND: 'gateway.serviceKind',
  PORTHOLE_GATEWAY_PROBE: 'gateway.probe.url',
  PORTHOLE_GATEWAY_CA: 'gateway.probe.ca',
  OIDC_ISSUER: 'oidc.issuer',
  OIDC_AUDIENCE: 'oidc.audience',
  OIDC_ORG_CLAIM: 'oidc.orgClaim',
  OIDC_ADMIN_CLAIM: 'oidc.adminClaim',
  OIDC_CLIENT_ID: 'oidc.clientId',
  OIDC_CLIENT_SECRET: 'oidcClientSecret',
  PORTHOLE_PROVIDER: 'sandboxes.provider',
  PORTHOLE_SANDBOX_IMAGE: 'sandboxes.image',
  PORTHOLE_IMAGES: 'sandboxes.images',
  PORTHOLE_SANDBOX_STORAGE_CLASS: 'sandboxes.storageClass',
  PORTHOLE_SANDBOX_PULL_SECRET: 'sandboxes.pullSecret',
  PORTHOLE_SANDBOX_RUNTIME_CLASS: 'sandboxes.runtimeClassName',
  PORTHOLE_SANDBOX_PRIORITY_CLASS: 'sandboxes.priorityClassName',
  PORTHOLE_SANDBOX_POD: 'sandboxes.pod',
  PORTHOLE_SANDBOX_HOST_USERS: 'sandboxes.hostUsers',
  PORTHOLE_GUEST_IMAGE: 'sandboxes.guestImage',
  PORTHOLE_WARM_POOL: 'sandboxes.warmPool',
  PORTHOLE_WARM_POOLS_BY_IMAGE: 'sandboxes.warmPools',
  WARM_POOL_TARGET: 'sandboxes.warmPoolTarget',
  LOG_LEVEL: 'functions.logLevel',
  PORTHOLE_ARCHIVE_BUCKET: 'archives.bucket',
  PORTHOLE_ARCHIVE_ENDPOINT: 'archives.endpoint',
  PORTHOLE_ARCHIVE_REGION: 'archives.region',
  PORTHOLE_ARCHIVE_ACCESS_KEY_ID: 'archiveAccessKeyId',
  PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY: 'archiveSecretAccessKey',
  DATABASE_URL: 'databaseUrl',
  PORTHOLE_SIGNING_KEYS: 'signingKeys',
  SANDBOX_API_KEY: 'serviceKey',
  PORTHOLE_API_KEYS: 'apiKeys',
  Sandbox__Preview__ZoneSuffix: 'zone',
  Sandbox__Preview__GatewayName: 'gateway.name',
  Sandbox__Preview__GatewayNamespace: 'namespaces.gateway',
  Sandbox__Preview__Namespace: 'namespaces.previews',
};

/** Variables that the stack itself decides. */
const FIXED: Readonly<Record<string, string>> = { HOST: 'the stack, which listens on 0.0.0.0: remove it' };

/** A URL with a password. */
const PASSWORD = /[a-z][a-z0-9+.-]*:\/\/[^\s/?#@:]*:[^\s/?#@]+@/i;

/** Secret variables without a setting: go into the Secret, not into the ConfigMap. */
const SECRET_VARIABLES = ['AWS_SECRET_ACCESS_KEY', 'R2_SECRET_ACCESS_KEY', 'PORTHOLE_BUCKETS'];

/** The setting of a variable; undefined if it is set in `environment`. */
export function settingOf(name: string, { preview }: StackConfig): string | undefined {
  const key = Object.keys(preview).find((each) => previewVariable(each) === name);
  return key === undefined ? SETTING_OF[name] : `preview.${key}`;
}

/** Variables that are computed from the template of the default pool. */
const SIZES: Readonly<Record<string, string>> = {
  PORTHOLE_SANDBOX_CPUS: 'cpu',
  PORTHOLE_SANDBOX_MEMORY_MIB: 'memory',
  PORTHOLE_SANDBOX_DISK_MIB: 'storage',
};

/** The setting of a template that a variable is computed from. */
function sizeOf(name: string, { sandboxes }: StackConfig): string | undefined {
  if (SIZES[name] === undefined || !(name in sandboxEnvironmentPlan(sandboxes))) return undefined;
  const pool = sandboxes.warmPools[defaultWarmPool(sandboxes) ?? ''];
  return `sandboxes.templates.${pool?.template}.${SIZES[name]}`;
}

/** Problems of each variable in `environment` and `secretEnvironment` by itself. */
export function variableProblems(config: StackConfig, isUnknown: (text: string) => boolean): Problem[] {
  const { environment, secretEnvironment = {} } = config;
  return [
    ...Object.entries(environment).map((each) => ['environment', ...each] as const),
    ...Object.entries(secretEnvironment).map((each) => ['secretEnvironment', ...each] as const),
  ].flatMap(([group, name, value]): Problem[] => {
    const key = `${group}.${name}`;
    const setting = settingOf(name, config) ?? sizeOf(name, config);
    if (!isVariable(name)) {
      const close = closestName(name, Object.keys(EnvironmentSchema.shape));
      const remedy = close === undefined ? 'npm run config lists them' : `did you mean ${close}?`;
      return [[key, `is not a variable of the functions; ${remedy}`]];
    }
    if (setting !== undefined) return [[key, `is decided by ${setting}: set that`]];
    if (FIXED[name] !== undefined) return [[key, `is decided by ${FIXED[name]}`]];
    const text = textOf(value);
    if (group === 'environment' && (SECRET_VARIABLES.includes(name) || PASSWORD.test(text))) {
      return [[key, 'holds secrets: set it in secretEnvironment']];
    }
    if (name === 'PORT' && takenPorts(config).includes(Number(text))) {
      return [[key, `${text} cannot be the port of the API: set another, e.g. 8787, or remove it`]];
    }
    return isUnknown(text)
      ? []
      : variableFaults(name, text).map((line) => [key, line.slice(line.indexOf(': ') + 2)] as const);
  });
}

/** A Service needs a known port, and the channel has its own. */
function takenPorts({ sandboxes }: StackConfig): number[] {
  return sandboxes.channel ? [0, CHANNEL_PORT] : [0];
}

/** Problems of all variables together that would keep the functions from starting. */
export function startProblems(config: StackConfig, isUnknown: (text: string) => boolean): Problem[] {
  const others =
    config.functions.existingSecret === undefined ? {} : { SANDBOX_API_KEY: 'of-others'.repeat(4) };
  const environment: Readonly<Record<string, string>> = {
    ...environmentPlan(config),
    ...secretsPlan(config),
    ...others,
  };
  return environmentFaults(environment).flatMap((line): Problem[] => {
    const [name = '', ...rest] = line.split(': ');
    if (isUnknown(environment[name] ?? '')) return [];
    const text = rest.join(': ');
    const size = sizeOf(name, config);
    if (size !== undefined) return [[size, `makes ${name} ${environment[name]}, which ${text}`]];
    return [[settingOf(name, config) ?? `environment.${name}`, text]];
  });
}

/** Problems of this environment that the functions reject, one line each; shows no secret. */
export function environmentFaults(environment: Readonly<Record<string, string>>): readonly string[] {
  try {
    readEnvironment(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

function isVariable(name: string): name is keyof Environment {
  return name in EnvironmentSchema.shape;
}
