import * as kubernetes from '@pulumi/kubernetes';
import { component } from './settings-with-outputs.ts';
import { FUNCTIONS_NAME } from './environment.plan.ts';
import { type GatewayReference, listenerGroup, parentReference } from '../constructs/gateway-manifests.ts';
import { servedZones, sharedGateway } from './gateway.plan.ts';
import { ROUTE_RESPONSE_HEADERS } from '../constructs/names.ts';
import { ownMetadata } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';

/**
 * The routes that exist as long as the stack: the API's, and a wildcard behind the previews of each
 * zone.
 */
export class Routes extends component('Routes', ({ name, config, resolve, parent }) => {
  const { CustomResource } = kubernetes.apiextensions;
  const api = new CustomResource(`${name}-api`, resolve(apiRoutePlan(config)), { parent });
  const fallbacks = resolve(fallbackRoutesPlan(config)).map(
    (plan, at) =>
      new CustomResource(
        at === 0 ? `${name}-fallback` : `${name}-fallback-${config.zones[at - 1]?.zone}`,
        plan,
        { parent },
      ),
  );
  return { api: api.id, fallbacks: fallbacks.map(({ id }) => id) };
}) {}

/** The API's own route. */
export function apiRoutePlan(config: StackConfig) {
  const { apiListener, kind, name, namespace } = sharedGateway(config);
  return route(config, 'porthole-api', config.apiHost, { kind, name, namespace, sectionName: apiListener });
}

/**
 * For each zone, every host that no preview's route claims: an exact hostname always wins over this
 * wildcard, so what comes here is a preview that is starting, ended or unknown, and the functions
 * answer with Porthole's page for it. With the headers of a preview's route: no header tells
 * whether a preview has a name.
 */
export function fallbackRoutesPlan(config: StackConfig) {
  const set = Object.entries(ROUTE_RESPONSE_HEADERS).map(([name, value]) => ({ name, value }));
  const filters = [{ type: 'ResponseHeaderModifier', responseHeaderModifier: { set } }];
  return servedZones(config).map(({ zone, gateway }, at) =>
    route(
      config,
      at === 0 ? 'porthole-fallback' : `porthole-fallback.${zone}`,
      `*.${zone}`,
      gateway,
      filters,
    ),
  );
}

/**
 * With the defaults of the API in its lists, which server-side apply owns as a whole: without them
 * a repeated create conflicts with the stored object.
 */
function route(
  config: StackConfig,
  name: string,
  hostname: string,
  parent: GatewayReference,
  filters?: readonly object[],
) {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: ownMetadata(config, name),
    spec: {
      parentRefs: [{ group: listenerGroup(parent.kind), kind: 'Gateway', ...parentReference(parent) }],
      hostnames: [hostname],
      // A command's stream, a terminal and the wait for an approval last as long as they last.
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: '/' } }],
          ...(filters !== undefined && { filters }),
          backendRefs: [{ group: '', kind: 'Service', name: FUNCTIONS_NAME, port: 80, weight: 1 }],
          timeouts: { request: '0s' },
        },
      ],
    },
  };
}
