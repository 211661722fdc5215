import { NAMESPACE_NAME, STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';

export const KIND = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway' } as const;

/** Names of the Gateway's listeners; a preview's route may attach to the first alone. */
export const LISTENERS = { previews: 'previews', api: 'api' } as const;

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

/**
 * The shared Gateway: one wildcard listener for every preview, one for the API, HTTPS alone. Only
 * routes of our own namespaces attach.
 */
export function gatewayPlan(config: GatewayConfig) {
  const { zone, apiHost, namespaces, gateway, certificates } = config;
  return {
    ...KIND,
    metadata: {
      name: gateway.name,
      namespace: namespaces.gateway,
      labels: { ...gateway.labels, ...STACK_LABELS },
      // Its address is an output of the stack: an update ends when it has one.
      annotations: { ...gateway.annotations, 'pulumi.com/waitFor': 'condition=Programmed' },
    },
    spec: {
      gatewayClassName: gateway.className,
      ...(gateway.infrastructure !== undefined && { infrastructure: gateway.infrastructure }),
      ...(gateway.addresses.length > 0 && { addresses: gateway.addresses }),
      listeners: [
        listener(LISTENERS.previews, `*.${zone}`, certificates.previewSecret, [
          namespaces.previews,
          namespaces.functions,
        ]),
        listener(LISTENERS.api, apiHost, certificates.apiSecret, [namespaces.functions]),
      ],
    },
  };

  function listener(name: string, hostname: string, secret: string, from: readonly string[]) {
    return {
      name,
      hostname,
      port: gateway.listenerPort ?? gateway.port,
      protocol: 'HTTPS',
      tls: { mode: 'Terminate', certificateRefs: [{ kind: 'Secret', name: secret }] },
      allowedRoutes: {
        kinds: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute' }],
        namespaces: {
          from: 'Selector',
          selector: {
            matchExpressions: [{ key: NAMESPACE_NAME, operator: 'In', values: [...new Set(from)] }],
          },
        },
      },
    };
  }
}

/**
 * cert-manager Certificates that fill the listeners' Secrets: none without an issuer, one where
 * both are the same Secret. A wildcard one for all previews, because transparency logs would
 * publish the name in each single one.
 */
export function certificatesPlan({ zone, apiHost, namespaces, certificates }: GatewayConfig) {
  const { issuer, previewSecret, apiSecret } = certificates;
  if (issuer === undefined) return [];
  const wanted =
    previewSecret === apiSecret
      ? [{ secretName: previewSecret, dnsNames: [`*.${zone}`, apiHost] }]
      : [
          { secretName: previewSecret, dnsNames: [`*.${zone}`] },
          { secretName: apiSecret, dnsNames: [apiHost] },
        ];
  return wanted.map(({ secretName, dnsNames }) => ({
    apiVersion: 'cert-manager.io/v1',
    kind: 'Certificate',
    metadata: { name: secretName, namespace: namespaces.gateway, labels: STACK_LABELS },
    spec: {
      secretName,
      dnsNames,
      issuerRef: { group: 'cert-manager.io', ...issuer },
      privateKey: { algorithm: 'ECDSA', size: 256, rotationPolicy: 'Always' },
    },
  }));
}
