/**
 * Manifests of the Gateway of previews and of its certificates, as plain objects: shared by the
 * construct and the infrastructure program. Values are not checked here.
 */
import { NAMESPACE_NAME } from './names.ts';

/** Names of the Gateway's listeners; a preview's route may attach to the first alone. */
export const LISTENERS = { previews: 'previews', api: 'api' } as const;

/** API group and version of each kind that has listeners. */
const LISTENER_KINDS = {
  Gateway: ['gateway.networking.k8s.io', 'v1'],
  /** Gateway API 1.5. */
  ListenerSet: ['gateway.networking.k8s.io', 'v1'],
  /** Experimental channel of Gateway API 1.3 and 1.4. */
  XListenerSet: ['gateway.networking.x-k8s.io', 'v1alpha1'],
} as const;

/** A Gateway or a ListenerSet by reference; a `PreviewGateway` is one. */
export interface GatewayReference {
  /** @default 'Gateway' */
  readonly kind?: keyof typeof LISTENER_KINDS | undefined;
  readonly name: string;
  readonly namespace: string;
  /**
   * The listener that routes attach to.
   * @default - every listener with a matching hostname
   */
  readonly sectionName?: string | undefined;
}

/** The group of a kind with listeners. */
export function listenerGroup(kind: GatewayReference['kind'] = 'Gateway'): string {
  return LISTENER_KINDS[kind][0];
}

/** The API version of a kind with listeners. */
export function listenerVersion(kind: GatewayReference['kind'] = 'Gateway'): string {
  return LISTENER_KINDS[kind][1];
}

/** A route's reference to its parent. */
export function parentReference({ kind = 'Gateway', name, namespace, sectionName }: GatewayReference) {
  return {
    ...(kind !== 'Gateway' && { group: listenerGroup(kind), kind }),
    name,
    namespace,
    ...(sectionName !== undefined && { sectionName }),
  };
}

const PREVIEW_SECRET = 'porthole-preview-tls';

export interface PreviewGatewayProps {
  readonly name: string;
  readonly namespace: string;
  /** GatewayClass that serves it. */
  readonly className: string;
  /**
   * Previews are `{token}-preview.{zone}`. A separate registrable domain: what runs in a preview
   * must never be same-site with an application of yours.
   */
  readonly zone: string;
  /** Namespaces of the routes that may attach to the listener of previews. */
  readonly routesFrom: readonly string[];
  /**
   * TLS Secret for `*.{zone}`, in the Gateway's namespace.
   * @default 'porthole-preview-tls'
   */
  readonly secret?: string;
  /**
   * A second listener, for the API.
   * @default - none
   */
  readonly api?: {
    readonly host: string;
    /** Namespaces of the routes that may attach. */
    readonly routesFrom: readonly string[];
    /** TLS Secret for the host, in the Gateway's namespace; may be that of the previews. */
    readonly secret: string;
  };
  /**
   * cert-manager issuer that fills the Secrets.
   * @default - none: the Secrets exist
   */
  readonly issuer?: { readonly name: string; readonly kind: 'ClusterIssuer' | 'Issuer' } | undefined;
  /**
   * Port of the listeners.
   * @default 443
   */
  readonly port?: number;
  /**
   * Labels and annotations of the gateway's own Service and pods, and the object with the
   * controller's parameters, as in a Gateway.
   * @default - none
   */
  readonly infrastructure?: object | undefined;
  /**
   * Addresses to ask for.
   * @default - any
   */
  readonly addresses?: readonly { readonly type: string; readonly value: string }[];
  /**
   * Labels of the Gateway and the Certificates.
   * @default - none
   */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * Annotations of the Gateway, e.g. for external-dns.
   * @default - none
   */
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * The shared Gateway: one wildcard listener for every preview, and one for the API where it is
 * asked for, HTTPS alone. Only routes of the given namespaces attach.
 */
export function gatewayManifest(props: PreviewGatewayProps) {
  const { name, namespace, className } = props;
  const { infrastructure, addresses = [], labels = {}, annotations = {} } = props;
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway' as const,
    metadata: {
      name,
      namespace,
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec: {
      gatewayClassName: className,
      ...(infrastructure !== undefined && { infrastructure }),
      ...(addresses.length > 0 && { addresses }),
      listeners: listeners(props),
    },
  };
}

/** The same listeners, attached to a Gateway of others, which must allow it. */
export function listenerSetManifest(
  kind: 'ListenerSet' | 'XListenerSet',
  props: Omit<PreviewGatewayProps, 'className'> & { readonly gateway: GatewayReference },
) {
  const { name, namespace, labels, gateway } = props;
  const [group, version] = LISTENER_KINDS[kind];
  return {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name, namespace, ...(labels !== undefined && { labels }) },
    spec: {
      parentRef: { name: gateway.name, namespace: gateway.namespace },
      listeners: listeners(props),
    },
  };
}

function listeners(props: Omit<PreviewGatewayProps, 'className'>) {
  const { zone, routesFrom, secret = PREVIEW_SECRET, api, port = 443 } = props;
  return [
    listener(LISTENERS.previews, `*.${zone}`, secret, routesFrom),
    ...(api === undefined ? [] : [listener(LISTENERS.api, api.host, api.secret, api.routesFrom)]),
  ];

  function listener(name: string, hostname: string, secret: string, from: readonly string[]) {
    return {
      name,
      hostname,
      port,
      protocol: 'HTTPS',
      tls: { mode: 'Terminate', certificateRefs: [{ group: '', kind: 'Secret', name: secret }] },
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
export function certificateManifests(props: Omit<PreviewGatewayProps, 'className'>) {
  const { namespace, zone, secret = PREVIEW_SECRET, api, issuer, labels } = props;
  if (issuer === undefined) return [];
  const names = new Map([[secret, [`*.${zone}`]]]);
  if (api !== undefined) names.set(api.secret, [...(names.get(api.secret) ?? []), api.host]);
  return [...names].map(([secretName, dnsNames]) => ({
    apiVersion: 'cert-manager.io/v1',
    kind: 'Certificate',
    metadata: { name: secretName, namespace, ...(labels !== undefined && { labels }) },
    spec: {
      secretName,
      dnsNames,
      issuerRef: { group: 'cert-manager.io', ...issuer },
      privateKey: { algorithm: 'ECDSA', size: 256, rotationPolicy: 'Always' },
    },
  }));
}
