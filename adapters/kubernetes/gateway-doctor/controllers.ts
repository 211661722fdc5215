/** What is known of a controller, by `spec.controllerName` of its GatewayClass. */
export interface ControllerFacts {
  /** Why answers of any length pass, where the class does not report HTTPRouteRequestTimeout. */
  readonly unlimited?: string;
  /** The limit of an answer, where routes cannot lift it. */
  readonly limit?: string;
  /** How to lift it, or the limit of requests. */
  readonly timeouts?: string;
  readonly body?: string;
  /** A limit of requests by default, which nothing measures within a minute. */
  readonly slowBody?: string;
}

const CONTROLLERS: Readonly<Record<string, ControllerFacts>> = {
  'traefik.io/gateway-controller': {
    unlimited: 'Traefik has no limit on answers',
    timeouts: 'set respondingTimeouts.writeTimeout of the entry point to 0',
    body: 'set respondingTimeouts.readTimeout of the entry point to 0, and remove buffering middlewares',
    slowBody: 'Traefik ends a request that takes over 60 s, unless respondingTimeouts.readTimeout is 0',
  },
  'gateway.nginx.org/nginx-gateway-controller': {
    limit: 'NGINX ends an answer after 60 s of silence (proxy_read_timeout)',
    timeouts: 'set proxy_read_timeout to 2h, e.g. by a SnippetsFilter',
    body: 'set body.maxSize of a ClientSettingsPolicy to 1g',
  },
  'networking.gke.io/gateway': {
    limit: 'the load balancer ends an answer after 30 s (timeoutSec)',
    timeouts: 'set timeoutSec of a GCPBackendPolicy to 7200 for the Services of previews and functions',
  },
  'gateway.k8s.aws/alb': {
    limit: 'the load balancer ends an answer after 60 s of silence (idle_timeout.timeout_seconds)',
    timeouts: 'set idle_timeout.timeout_seconds of a LoadBalancerConfiguration to 4000, its maximum',
  },
};

const UNKNOWN: ControllerFacts = {};

export function factsOf(controllerName: string | undefined): ControllerFacts {
  return CONTROLLERS[controllerName ?? ''] ?? UNKNOWN;
}
