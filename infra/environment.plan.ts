import { servedZones, sharedGateway } from './gateway.plan.ts';
import { previewVariable, type StackConfig } from './stack-config-schema.ts';
import { authorityFile, gatewayAuthority } from './authorities.plan.ts';
import { type Row, textOf, textsOf } from './variable-rows.ts';
import { sandboxRows } from './sandbox-provider.plan.ts';

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
  return {
    HOST: '0.0.0.0',
    PORT: String(functionsPort(config)),
    PORTHOLE_DATA_DIR: dataFolder(config),
    ...textsOf(settingRows(config)),
    ...textsOf(Object.entries(config.environment)),
  };
}

/** Every variable that a setting decides, without those of Secrets. */
export function settingRows(config: StackConfig): Row[] {
  const { zone, gateway, namespaces, preview, functions, broker, browsers, oidc, sandboxes } = config;
  const authority = gatewayAuthority(config);
  const shared = sharedGateway(config);
  const [, ...zones] = servedZones(config);
  const service = (name: string, port: number) => `${name}.${namespaces.functions}.svc:${port}`;
  return [
    ['PORTHOLE_PUBLIC_URL', 'apiHost', apiUrl(config)],
    ['LOG_LEVEL', 'functions.logLevel', functions.logLevel],
    ['PORTHOLE_FEATURES_OFF', 'functions.featuresOff', functions.featuresOff.join(',') || undefined],
    ...sandboxRows(sandboxes),
    ['PORTHOLE_CHANNEL_PORT', 'sandboxes.channel', sandboxes.channel ? CHANNEL_PORT : undefined],
    [
      'PORTHOLE_CHANNEL_URL',
      'sandboxes.channel',
      sandboxes.channel ? `http://${service(FUNCTIONS_NAME, CHANNEL_PORT)}` : undefined,
    ],
    ['PORTHOLE_BROKER_URL', 'broker', broker && `tcp://${service(BROKER_NAME, BROKER_PORT)}`],
    ['PORTHOLE_BROWSERS_URL', 'browsers', browsers && `http://${service(BROWSERS_NAME, BROWSERS_PORT)}`],
    ['PORTHOLE_GATEWAY_LISTENER', 'gateway.existing.sectionName', shared.listener],
    ['PORTHOLE_GATEWAY_KIND', 'gateway.listenerSet', shared.kind],
    ['PORTHOLE_ZONES', 'zones', zones.length > 0 ? zones : undefined],
    ['PORTHOLE_GATEWAY_PORT', 'gateway.port', gateway.port],
    ['PORTHOLE_GATEWAY_SERVICE_KIND', 'gateway.serviceKind', gateway.serviceKind],
    ['PORTHOLE_GATEWAY_PROBE', 'gateway.probe.url', gateway.probe?.url],
    ['PORTHOLE_GATEWAY_CA', 'gateway.probe.ca', authority && authorityFile(authority)],
    ['OIDC_ISSUER', 'oidc.issuer', oidc?.issuer],
    ['OIDC_AUDIENCE', 'oidc.audience', oidc?.audience],
    ['OIDC_ORG_CLAIM', 'oidc.orgClaim', oidc?.orgClaim],
    ['OIDC_ADMIN_CLAIM', 'oidc.adminClaim', oidc?.adminClaim],
    ['OIDC_CLIENT_ID', 'oidc.clientId', oidc?.clientId],
    ['Sandbox__Preview__ZoneSuffix', 'zone', zone],
    ['Sandbox__Preview__GatewayName', 'gateway.name', shared.name],
    ['Sandbox__Preview__GatewayNamespace', 'namespaces.gateway', shared.namespace],
    ['Sandbox__Preview__Namespace', 'namespaces.previews', namespaces.previews],
    ...Object.entries(preview).map(([key, value]): Row => [previewVariable(key), `preview.${key}`, value]),
  ];
}

/** The variables of the Secret. */
export function secretRows(config: StackConfig): Row[] {
  return [
    ['DATABASE_URL', 'databaseUrl', config.databaseUrl],
    ['PORTHOLE_SIGNING_KEYS', 'signingKeys', config.signingKeys],
    ['SANDBOX_API_KEY', 'serviceKey', config.serviceKey],
    ['PORTHOLE_API_KEYS', 'apiKeys', config.apiKeys],
    ['OIDC_CLIENT_SECRET', 'oidcClientSecret', config.oidcClientSecret],
  ];
}

/** The secret part of the environment; undefined if the Secret is managed elsewhere. */
export function secretsPlan(config: StackConfig): Record<string, string> | undefined {
  if (config.functions.existingSecret !== undefined) return undefined;
  return { ...textsOf(secretRows(config)), ...textsOf(Object.entries(config.secretEnvironment ?? {})) };
}
