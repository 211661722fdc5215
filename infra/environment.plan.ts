import { servedZones, sharedGateway } from './gateway.plan.ts';
import { previewVariable, type StackConfig } from './stack-config-schema.ts';
import { authorityFile, gatewayAuthority } from './authorities.plan.ts';
import { sandboxEnvironmentPlan } from './sandbox-provider.plan.ts';

/** Name of the Service, the Deployment and the objects that belong to them. */
export const FUNCTIONS_NAME = 'porthole';

/** Port that the functions listen on inside their pod. */
export function functionsPort({ environment }: Pick<StackConfig, 'environment'>): number {
  return Number(environment['PORT'] ?? 8787);
}

/** The only writable folder of the functions' pods besides `/tmp`. */
export function dataFolder({ environment }: StackConfig): string {
  return textOf(environment['PORTHOLE_DATA_DIR'] ?? '/var/lib/porthole');
}

/** Port that sandboxes call the functions at, in their pods and at their Service. */
export const CHANNEL_PORT = 8788;

/** Name of the broker's Service and Deployment, and its port. */
export const BROKER_NAME = 'porthole-broker';
export const BROKER_PORT = 8789;

/** Name of the browsers' Service, Deployment and account, and their port. */
export const BROWSERS_NAME = 'porthole-browsers';
export const BROWSERS_PORT = 8790;

/** The public address, without the port if it is the default one. */
export function apiUrl({ apiHost, gateway }: StackConfig): string {
  return new URL(`https://${apiHost}:${gateway.port}`).origin;
}

/** The functions' environment, by variable name. */
export function environmentPlan(config: StackConfig): Record<string, string> {
  const own = Object.entries(config.environment).map(([name, value]) => [name, textOf(value)]);
  return { ...settingsPlan(config), ...Object.fromEntries(own) };
}

/** A variable's text: JSON for structured values. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The part that comes from settings. */
function settingsPlan(config: StackConfig): Record<string, string> {
  const { zone, gateway, namespaces, preview, functions, broker, browsers, oidc, sandboxes } = config;
  const authority = gatewayAuthority(config);
  const shared = sharedGateway(config);
  const [, ...zones] = servedZones(config);
  return {
    HOST: '0.0.0.0',
    PORT: String(functionsPort(config)),
    PORTHOLE_DATA_DIR: dataFolder(config),
    PORTHOLE_PUBLIC_URL: apiUrl(config),
    LOG_LEVEL: functions.logLevel,
    ...sandboxEnvironmentPlan(sandboxes),
    ...(sandboxes.channel && {
      PORTHOLE_CHANNEL_PORT: String(CHANNEL_PORT),
      PORTHOLE_CHANNEL_URL: `http://${FUNCTIONS_NAME}.${namespaces.functions}.svc:${CHANNEL_PORT}`,
    }),
    ...(broker !== undefined && {
      PORTHOLE_BROKER_URL: `tcp://${BROKER_NAME}.${namespaces.functions}.svc:${BROKER_PORT}`,
    }),
    ...(browsers !== undefined && {
      PORTHOLE_BROWSERS_URL: `http://${BROWSERS_NAME}.${namespaces.functions}.svc:${BROWSERS_PORT}`,
    }),
    PORTHOLE_GATEWAY_LISTENER: shared.listener,
    // Only where needed: the version before does not know them.
    ...(shared.kind !== undefined && { PORTHOLE_GATEWAY_KIND: shared.kind }),
    ...(zones.length > 0 && { PORTHOLE_ZONES: JSON.stringify(zones) }),
    PORTHOLE_GATEWAY_PORT: String(gateway.port),
    PORTHOLE_GATEWAY_SERVICE_KIND: gateway.serviceKind,
    ...(gateway.probe !== undefined && { PORTHOLE_GATEWAY_PROBE: gateway.probe.url }),
    ...(authority !== undefined && { PORTHOLE_GATEWAY_CA: authorityFile(authority) }),
    ...(oidc && {
      OIDC_ISSUER: oidc.issuer,
      OIDC_AUDIENCE: oidc.audience,
      OIDC_ORG_CLAIM: oidc.orgClaim,
      OIDC_ADMIN_CLAIM: oidc.adminClaim,
      ...(oidc.clientId !== undefined && { OIDC_CLIENT_ID: oidc.clientId }),
    }),
    Sandbox__Preview__Enabled: 'true',
    Sandbox__Preview__ZoneSuffix: zone,
    Sandbox__Preview__GatewayName: shared.name,
    Sandbox__Preview__GatewayNamespace: shared.namespace,
    Sandbox__Preview__Namespace: namespaces.previews,
    ...Object.fromEntries(
      Object.entries(preview).map(([key, value]) => [previewVariable(key), String(value)]),
    ),
  };
}

/** The secret part of the environment; undefined if the Secret is managed elsewhere. */
export function secretsPlan(config: StackConfig): Record<string, string> | undefined {
  if (config.functions.existingSecret !== undefined) return undefined;
  return {
    ...(config.databaseUrl !== undefined && { DATABASE_URL: config.databaseUrl }),
    ...(config.signingKeys !== undefined && { PORTHOLE_SIGNING_KEYS: config.signingKeys }),
    ...(config.serviceKey !== undefined && { SANDBOX_API_KEY: config.serviceKey }),
    ...(config.apiKeys !== undefined && { PORTHOLE_API_KEYS: config.apiKeys }),
    ...(config.oidcClientSecret !== undefined && { OIDC_CLIENT_SECRET: config.oidcClientSecret }),
    ...Object.fromEntries(
      Object.entries(config.secretEnvironment ?? {}).map(([name, value]) => [name, textOf(value)]),
    ),
  };
}
