import { LISTENERS } from '../gateway/gateway.plan.ts';
import type { FUNCTIONS_SECRET_KEYS, StackConfig } from '../stack-config/stack-config-schema.ts';
import { authorityFile, gatewayAuthority } from './authorities.plan.ts';
import { sandboxEnvironmentPlan } from './sandbox-provider.plan.ts';

/** Service, Deployment and their guardians carry this name. */
export const FUNCTIONS_NAME = 'porthole';

/** Port that the functions listen on inside their pod. */
export const FUNCTIONS_PORT = 8787;

/** The only places a pod of the functions may write to. */
export const DATA_FOLDER = '/var/lib/porthole';

/** Port that sandboxes call the functions at, in their pods and at their Service. */
export const CHANNEL_PORT = 8788;

/** The address people use, without the port where it is the usual one. */
export function apiUrl({ apiHost, gateway }: Pick<StackConfig, 'apiHost' | 'gateway'>): string {
  return new URL(`https://${apiHost}:${gateway.port}`).origin;
}

/** The functions' environment, by the exact names that they read. */
export function environmentPlan(
  config: Pick<
    StackConfig,
    'zone' | 'apiHost' | 'gateway' | 'namespaces' | 'preview' | 'sandboxes' | 'functions' | 'oidc'
  >,
): Record<string, string> {
  const { zone, gateway, namespaces, preview, functions, oidc, sandboxes } = config;
  const authority = gatewayAuthority(config);
  return {
    HOST: '0.0.0.0',
    PORT: String(FUNCTIONS_PORT),
    PORTHOLE_DATA_DIR: DATA_FOLDER,
    PORTHOLE_PUBLIC_URL: apiUrl(config),
    LOG_LEVEL: functions.logLevel,
    ...sandboxEnvironmentPlan(sandboxes),
    ...(sandboxes.channel && {
      PORTHOLE_CHANNEL_PORT: String(CHANNEL_PORT),
      PORTHOLE_CHANNEL_URL: `http://${FUNCTIONS_NAME}.${namespaces.functions}.svc:${CHANNEL_PORT}`,
    }),
    PORTHOLE_GATEWAY_LISTENER: LISTENERS.previews,
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
    Sandbox__Preview__GatewayName: gateway.name,
    Sandbox__Preview__GatewayNamespace: namespaces.gateway,
    Sandbox__Preview__Namespace: namespaces.previews,
    Sandbox__Preview__Upstream: preview.upstream,
    Sandbox__Preview__IdleTimeoutMinutes: String(preview.idleTimeoutMinutes),
    Sandbox__Preview__MaxLifetimeHours: String(preview.maxLifetimeHours),
    Sandbox__Preview__KeepAfterRun: String(preview.keepAfterRun),
    Sandbox__Preview__AllowedPortMin: String(preview.allowedPortMin),
    Sandbox__Preview__AllowedPortMax: String(preview.allowedPortMax),
    Sandbox__Preview__AutoApprove: String(preview.autoApprove),
    Sandbox__Preview__MaxPerRun: String(preview.maxPerRun),
    Sandbox__Preview__MaxTotal: String(preview.maxTotal),
    Sandbox__Preview__ReadyTimeoutSeconds: String(preview.readyTimeoutSeconds),
  };
}

/** The part of the environment that is secret; undefined where others keep the Secret. */
export function secretsPlan(
  config: Pick<StackConfig, 'functions' | (typeof FUNCTIONS_SECRET_KEYS)[number]>,
): Record<string, string> | undefined {
  if (config.functions.existingSecret !== undefined) return undefined;
  return {
    ...(config.databaseUrl !== undefined && { DATABASE_URL: config.databaseUrl }),
    ...(config.signingKeys !== undefined && { PORTHOLE_SIGNING_KEYS: config.signingKeys }),
    ...(config.serviceKey !== undefined && { SANDBOX_API_KEY: config.serviceKey }),
    ...(config.apiKeys !== undefined && { PORTHOLE_API_KEYS: config.apiKeys }),
    ...(config.oidcClientSecret !== undefined && { OIDC_CLIENT_SECRET: config.oidcClientSecret }),
  };
}
