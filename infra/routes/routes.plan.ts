import { FUNCTIONS_NAME } from '../functions/environment.plan.ts';
import { LISTENERS } from '../gateway/gateway.plan.ts';
import { STACK_LABELS } from '../labels.ts';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';

type RoutesConfig = Pick<StackConfig, 'zone' | 'apiHost' | 'namespaces' | 'gateway'>;

/** The API's own route. */
export function apiRoutePlan(config: RoutesConfig) {
  return route(config, 'porthole-api', config.apiHost, LISTENERS.api);
}

/**
 * Every host of the zone that no preview's route claims: an exact hostname always wins over this wildcard, so what
 * comes here is a preview that is starting, ended or unknown, and the functions answer with Porthole's page for it.
 */
export function fallbackRoutePlan(config: RoutesConfig) {
  return route(config, 'porthole-fallback', `*.${config.zone}`, LISTENERS.previews);
}

function route({ namespaces, gateway }: RoutesConfig, name: string, hostname: string, sectionName: string) {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name, namespace: namespaces.functions, labels: STACK_LABELS },
    spec: {
      parentRefs: [{ name: gateway.name, namespace: namespaces.gateway, sectionName }],
      hostnames: [hostname],
      // A command's stream, a terminal and the wait for an approval last as long as they last.
      rules: [{ backendRefs: [{ name: FUNCTIONS_NAME, port: 80 }], timeouts: { request: '0s' } }],
    },
  };
}
