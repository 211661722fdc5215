import { LISTENERS } from '../gateway/gateway.plan.ts';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { sandboxEnvironmentPlan } from './sandbox-provider.plan.ts';

/** Port that the functions listen on inside their pod. */
export const FUNCTIONS_PORT = 8787;

/** The only places a pod of the functions may write to. */
export const DATA_FOLDER = '/var/lib/porthole';

/** The folder, in every pod of the stack, of the authority behind the gateway's certificate. */
export const AUTHORITY_FOLDER = '/etc/porthole/gateway';
/** Its file there, and its key in the ConfigMap that it comes from. */
export const AUTHORITY_FILE = 'ca.crt';

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
  const { zone, gateway, namespaces, preview, functions, oidc } = config;
  return {
    HOST: '0.0.0.0',
    PORT: String(FUNCTIONS_PORT),
    PORTHOLE_DATA_DIR: DATA_FOLDER,
    PORTHOLE_PUBLIC_URL: apiUrl(config),
    LOG_LEVEL: functions.logLevel,
    ...sandboxEnvironmentPlan(config.sandboxes),
    PORTHOLE_GATEWAY_LISTENER: LISTENERS.previews,
    PORTHOLE_GATEWAY_PORT: String(gateway.port),
    PORTHOLE_GATEWAY_SERVICE_KIND: gateway.serviceKind,
    ...(gateway.probe !== undefined && { PORTHOLE_GATEWAY_PROBE: gateway.probe.url }),
    ...(gateway.probe?.ca !== undefined && {
      PORTHOLE_GATEWAY_CA: `${AUTHORITY_FOLDER}/${AUTHORITY_FILE}`,
    }),
    ...(oidc && {
      OIDC_ISSUER: oidc.issuer,
      OIDC_AUDIENCE: oidc.audience,
      OIDC_ORG_CLAIM: oidc.orgClaim,
      OIDC_ADMIN_CLAIM: oidc.adminClaim,
    }),
    Sandbox__Preview__Enabled: 'true',
    Sandbox__Preview__ZoneSuffix: zone,
    Sandbox__Preview__GatewayName: gateway.name,
    Sandbox__Preview__GatewayNamespace: namespaces.gateway,
    Sandbox__Preview__Namespace: namespaces.previews,
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

/** The authority that the functions know the gateway by; undefined where every system knows it. */
export function authorityPlan({ gateway }: Pick<StackConfig, 'gateway'>): Record<string, string> | undefined {
  const ca = gateway.probe?.ca;
  return ca === undefined ? undefined : { [AUTHORITY_FILE]: ca };
}

/** The part of the environment that is secret; undefined where others keep the Secret. */
export function secretsPlan(
  config: Pick<StackConfig, 'functions' | 'databaseUrl' | 'signingKeys' | 'serviceKey' | 'apiKeys'>,
): Record<string, string> | undefined {
  if (config.functions.existingSecret !== undefined) return undefined;
  return {
    ...(config.databaseUrl !== undefined && { DATABASE_URL: config.databaseUrl }),
    ...(config.signingKeys !== undefined && { PORTHOLE_SIGNING_KEYS: config.signingKeys }),
    ...(config.serviceKey !== undefined && { SANDBOX_API_KEY: config.serviceKey }),
    ...(config.apiKeys !== undefined && { PORTHOLE_API_KEYS: config.apiKeys }),
  };
}
