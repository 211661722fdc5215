import { ApiObject, App, Chart } from 'cdk8s';
import { Construct } from 'constructs';
import { GUEST_PREVIEW_PORT, PREVIEW_PORT_HEADER } from '../protocol/guest/previews-protocol.ts';
import type { PreviewFacts } from '../protocol/preview-facts.ts';
import {
  ANNOTATIONS,
  formatTime,
  LABELS,
  labelValue,
  PREVIEW_LABELS,
  ROUTE_RESPONSE_HEADERS,
  sandboxIdLabels,
  sandboxObjectName,
  timeSlot,
  UPSTREAM_HOST,
  UPSTREAM_ORIGIN,
  writeNotes,
} from './names.ts';
import { type GatewayReference, parentReference } from './gateway-manifests.ts';

export interface PreviewProps extends Omit<PreviewFacts, 'podName'> {
  /** Name of both objects: `preview-` and 20 hex, never the token. */
  readonly name: string;
  readonly namespace: string;
  readonly gateway: GatewayReference;
  /** The host that the preview is served on: `{token}-preview.{zone}`. */
  readonly hostname: string;
  /**
   * A second host, by a name that its owner gave it: `{name}-preview.{zone}`. Its guest must keep
   * strangers out.
   * @default - none
   */
  readonly namedHostname?: string | undefined;
  /**
   * Port under which people reach the gateway; it is part of the preview's origin.
   * @default 443
   */
  readonly publicPort?: number;
  /**
   * Labels of the pod.
   * @default - the one that the pod of a sandbox has, `sandboxIdLabels`
   */
  readonly selector?: Readonly<Record<string, string>>;
  /** @default - the name of a `SandboxPod` */
  readonly podName?: string;
  /**
   * Identifies this start, so that a caller that lost the response finds its own preview.
   * @default - none: the manifests are applied as a whole
   */
  readonly attempt?: string;
  /**
   * `headless` costs the same at any number of previews; `clusterip` is for gateways that dial a
   * virtual IP.
   * @default 'headless'
   */
  readonly serviceKind?: 'headless' | 'clusterip';
  /**
   * `guest`: the Service leads to the sandbox's guest, which rewrites headers and reaches the app
   * on loopback. `direct`: it leads to the app's own port, and the route rewrites what a route can.
   * @default 'direct'
   */
  readonly upstream?: 'guest' | 'direct';
}

/** The Service that a route belongs to, as the API server stored it. */
export interface RouteOwner {
  readonly uid: string;
  readonly resourceVersion: string;
  /**
   * Whether other starts may have a claim on it, too.
   * @default false
   */
  readonly isClaimed?: boolean;
}

/** Headers that give the app its public origin. */
const FORWARDED = ['X-Forwarded-Host', 'X-Forwarded-Port', 'X-Forwarded-Proto'];

/**
 * A preview: a Service in front of one port of a sandbox's pod, and the HTTPRoute that leads to it.
 */
export class Preview extends Construct {
  readonly service: ApiObject;
  readonly route: ApiObject;
  readonly serviceKind: 'headless' | 'clusterip';
  readonly upstream: 'guest' | 'direct';
  readonly #props: PreviewProps;

  /** @throws Error that names the property with the invalid value */
  constructor(scope: Construct, id: string, props: PreviewProps) {
    super(scope, id);
    check(props);
    this.#props = props;
    this.serviceKind = props.serviceKind ?? 'headless';
    this.upstream = props.upstream ?? 'direct';
    const targetPort = this.upstream === 'guest' ? GUEST_PREVIEW_PORT : props.targetPort;
    this.service = new ApiObject(this, 'service', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: props.name,
        namespace: props.namespace,
        labels: labelsOf(props),
        annotations: attemptOf(props),
      },
      spec: {
        ...(this.serviceKind === 'headless' && { clusterIP: 'None' }),
        selector: props.selector ?? sandboxIdLabels(props.sandboxId),
        ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort }],
      },
    });
    this.route = this.#route();
  }

  #route(): ApiObject {
    const props = this.#props;
    const { name, namespace, gateway, hostname, namedHostname, publicPort = 443 } = props;
    return new ApiObject(this, 'route', {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: {
        name,
        namespace,
        labels: {
          ...labelsOf(props),
          ...sandboxIdLabels(props.sandboxId),
          [LABELS.dueSlot]: timeSlot(props.expiresAt),
        },
        annotations: {
          ...writeNotes({ ...props, podName: props.podName ?? sandboxObjectName(props.sandboxId) }),
          ...attemptOf(props),
        },
      },
      spec: {
        parentRefs: [parentReference(gateway)],
        hostnames: namedHostname === undefined ? [hostname] : [hostname, namedHostname],
        rules: this.upstream === 'guest' ? this.#toGuest() : this.#toApp(publicPort),
      },
    });
  }

  /**
   * The guest needs the app's port: `set`, so that a client's own header is lost. It rewrites
   * everything else.
   */
  #toGuest(): object[] {
    return [
      this.#rule([
        requestHeaders({ set: [{ name: PREVIEW_PORT_HEADER, value: String(this.#props.targetPort) }] }),
      ]),
    ];
  }

  #toApp(publicPort: number): object[] {
    const { hostname } = this.#props;
    const publicHost = publicPort === 443 ? hostname : `${hostname}:${publicPort}`;
    const rewriteHost = { type: 'URLRewrite', urlRewrite: { hostname: UPSTREAM_HOST } };
    return [
      // Frameworks compare Origin with Host (CSRF), some with X-Forwarded-Host and -Proto
      // instead: all of them name localhost, or the app answers 403.
      // Only the preview's own Origin is rewritten: a foreign one must stay foreign.
      this.#rule(
        [
          rewriteHost,
          requestHeaders({ set: [{ name: 'Origin', value: UPSTREAM_ORIGIN }], remove: FORWARDED }),
        ],
        {
          path: { type: 'PathPrefix', value: '/' },
          headers: [{ type: 'Exact', name: 'Origin', value: `https://${publicHost}` }],
        },
      ),
      this.#rule([
        rewriteHost,
        requestHeaders({
          set: [
            { name: 'X-Forwarded-Host', value: publicHost },
            { name: 'X-Forwarded-Proto', value: 'https' },
          ],
        }),
      ]),
    ];
  }

  #rule(requestFilters: readonly object[], match?: object): object {
    return {
      ...(match !== undefined && { matches: [match] }),
      filters: [
        ...requestFilters,
        {
          type: 'ResponseHeaderModifier',
          responseHeaderModifier: {
            set: Object.entries(ROUTE_RESPONSE_HEADERS).map(([name, value]) => ({ name, value })),
            // Its "cookies" directive clears the cookies of the whole registrable domain.
            remove: ['Clear-Site-Data'],
          },
        },
      ],
      // No limit, for WebSockets and event streams.
      timeouts: { request: '0s' },
      backendRefs: [{ name: this.#props.name, port: 80 }],
    };
  }
}

function requestHeaders(requestHeaderModifier: object): object {
  return { type: 'RequestHeaderModifier', requestHeaderModifier };
}

/**
 * Both manifests of a preview. The route's owner is its Service, so the Service is made first: its
 * uid is known once it is stored, and no route exists without its Service.
 */
export function previewManifests(props: PreviewProps): {
  readonly service: object;
  route(service: RouteOwner): object;
} {
  const chart = new Chart(new App(), 'previews', { disableResourceNameHashes: true });
  const { service, route } = new Preview(chart, props.name, props);
  return { service: service.toJson() as object, route: (owner) => ownedRoute(route.toJson(), owner) };
}

function ownedRoute(
  route: { metadata: { name: string; annotations: object } },
  { uid, resourceVersion, isClaimed }: RouteOwner,
): object {
  const { metadata } = route;
  const annotations = {
    ...metadata.annotations,
    [ANNOTATIONS.ticket]: resourceVersion,
    ...(!isClaimed && { [ANNOTATIONS.serviceVersion]: resourceVersion }),
  };
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Service', name: metadata.name, uid }];
  return { ...route, metadata: { ...metadata, annotations, ownerReferences } };
}

function attemptOf({ attempt }: PreviewProps): Record<string, string> {
  return attempt === undefined ? {} : { [ANNOTATIONS.attempt]: attempt };
}

function labelsOf({ runId, owner, startedAt }: PreviewProps): Record<string, string> {
  return {
    ...PREVIEW_LABELS,
    [LABELS.run]: labelValue(runId),
    [LABELS.owner]: labelValue(owner),
    [LABELS.madeSlot]: timeSlot(startedAt),
  };
}

const DNS_LABEL = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** As the Gateway API has it: no wildcard, no port, no IP address. */
export const HOSTNAME =
  /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/;

/** The host name is a capability, so no message repeats it. */
function check(props: PreviewProps): void {
  const { name, hostname, namedHostname, targetPort, startedAt, expiresAt, maxUntil } = props;
  if (!DNS_LABEL.test(name)) {
    throw new Error(`Preview.name must be a lower-case DNS label of at most 63 characters, got "${name}".`);
  }
  for (const [property, host] of Object.entries({ hostname, namedHostname })) {
    if (host !== undefined && !HOSTNAME.test(host)) {
      throw new Error(`Preview.${property} must be a lower-case DNS name without wildcard or port.`);
    }
  }
  if (!Number.isInteger(targetPort) || targetPort < 1 || targetPort > 65_535) {
    throw new Error(`Preview.targetPort must be an integer between 1 and 65535, got ${targetPort}.`);
  }
  for (const [property, time] of Object.entries({ startedAt, expiresAt, maxUntil })) {
    if (Number.isNaN(time.getTime())) throw new Error(`Preview.${property} is no time.`);
  }
  if (expiresAt > maxUntil) {
    throw new Error(
      `Preview.expiresAt (${formatTime(expiresAt)}) must not be past maxUntil (${formatTime(maxUntil)}).`,
    );
  }
}
