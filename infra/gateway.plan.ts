import { certificateManifests, gatewayManifest, LISTENERS } from '../constructs/gateway-manifests.ts';
import { STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';

export const KIND = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway' } as const;

/** The Gateway that routes attach to, created or existing, and the listeners that they name. */
export function sharedGateway({ gateway, namespaces }: Pick<StackConfig, 'gateway' | 'namespaces'>) {
  const { existing } = gateway;
  return existing === undefined
    ? {
        name: gateway.name,
        namespace: namespaces.gateway,
        listener: LISTENERS.previews,
        apiListener: LISTENERS.api as string | undefined,
      }
    : {
        name: existing.name,
        namespace: existing.namespace,
        listener: existing.sectionName,
        apiListener: existing.apiSectionName,
      };
}

/** Settings of a created Gateway have no effect on an existing one. */
export function gatewayProblems({ gateway, certificates }: StackConfig): [key: string, problem: string][] {
  const { existing, className, annotations, labels, infrastructure, addresses, listenerPort } = gateway;
  if (existing === undefined) {
    return className === undefined
      ? [['gateway.className', 'is required, unless gateway.existing names a Gateway of others']]
      : [];
  }
  const unused = {
    'gateway.className': className !== undefined,
    'gateway.annotations': Object.keys(annotations).length > 0,
    'gateway.labels': Object.keys(labels).length > 0,
    'gateway.infrastructure': infrastructure !== undefined,
    'gateway.addresses': addresses.length > 0,
    'gateway.listenerPort': listenerPort !== undefined,
    'certificates.issuer': certificates.issuer !== undefined,
  };
  return Object.entries(unused)
    .filter(([, isSet]) => isSet)
    .map(([key]) => [key, `is not used, because others keep the Gateway ${existing.name}: remove it`]);
}

type GatewayConfig = Pick<StackConfig, 'zone' | 'apiHost' | 'namespaces' | 'gateway' | 'certificates'>;

/** The shared Gateway, with a listener for previews and one for the API. */
export function gatewayPlan(config: GatewayConfig) {
  const { labels, annotations } = config.gateway;
  return gatewayManifest({
    ...gatewayProps(config),
    labels: { ...labels, ...STACK_LABELS },
    // Its address is an output of the stack: an update ends when it has one.
    annotations: { ...annotations, 'pulumi.com/waitFor': 'condition=Programmed' },
  });
}

/** cert-manager Certificates that fill the listeners' Secrets. */
export function certificatesPlan(config: GatewayConfig) {
  return certificateManifests(gatewayProps(config));
}

function gatewayProps({ zone, apiHost, namespaces, gateway, certificates }: GatewayConfig) {
  return {
    name: gateway.name,
    namespace: namespaces.gateway,
    className: gateway.className ?? '',
    zone,
    // The functions answer for hosts of the zone that have no preview.
    routesFrom: [namespaces.previews, namespaces.functions],
    secret: certificates.previewSecret,
    api: { host: apiHost, routesFrom: [namespaces.functions], secret: certificates.apiSecret },
    issuer: certificates.issuer,
    port: gateway.listenerPort ?? gateway.port,
    infrastructure: gateway.infrastructure,
    addresses: gateway.addresses,
    labels: STACK_LABELS,
  };
}
