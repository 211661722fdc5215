import { FUNCTIONS_NAME } from './environment.plan.ts';
import { sharedGateway } from './gateway.plan.ts';
import { STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';

type RoutesConfig = Pick<StackConfig, 'zone' | 'apiHost' | 'namespaces' | 'gateway'>;

/** The API's own route. */
export function apiRoutePlan(config: RoutesConfig) {
  return route(config, 'porthole-api', config.apiHost, sharedGateway(config).apiListener);
}

/**
 * Every host of the zone that no preview's route claims: an exact hostname always wins over this
 * wildcard, so what comes here is a preview that is starting, ended or unknown, and the functions
 * answer with Porthole's page for it.
 */
export function fallbackRoutePlan(config: RoutesConfig) {
  return route(config, 'porthole-fallback', `*.${config.zone}`, sharedGateway(config).listener);
}

function route(config: RoutesConfig, name: string, hostname: string, sectionName: string | undefined) {
  const { namespaces } = config;
  const gateway = sharedGateway(config);
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name, namespace: namespaces.functions, labels: STACK_LABELS },
    spec: {
      parentRefs: [
        {
          name: gateway.name,
          namespace: gateway.namespace,
          ...(sectionName !== undefined && { sectionName }),
        },
      ],
      hostnames: [hostname],
      // A command's stream, a terminal and the wait for an approval last as long as they last.
      rules: [{ backendRefs: [{ name: FUNCTIONS_NAME, port: 80 }], timeouts: { request: '0s' } }],
    },
  };
}
