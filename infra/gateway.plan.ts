import {
  certificateManifests,
  gatewayManifest,
  type GatewayReference,
  LISTENERS,
  listenerSetManifest,
} from '../constructs/gateway-manifests.ts';
import type { AccessLevel } from '../protocol/preview-access.ts';
import { STACK_LABELS } from './labels.ts';
import type { StackConfig, ZoneGateway } from './stack-config-schema.ts';

export const KIND = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway' } as const;

/** A zone of previews, and the listener that its routes attach to. */
interface ServedZone {
  readonly zone: string;
  /** Empty: all orgs without a separate zone. */
  readonly orgs: readonly string[];
  readonly access?: AccessLevel | undefined;
  readonly maxAccess?: AccessLevel | undefined;
  readonly gateway: GatewayReference & { readonly sectionName: string };
}

/** Every zone of the stack; the one of all other orgs comes first. */
export function servedZones(config: StackConfig): readonly [ServedZone, ...ServedZone[]] {
  const { zone, zones, gateway, namespaces } = config;
  return [
    { zone, orgs: [], gateway: reference(gateway, namespaces) },
    ...zones.map((each) => ({
      zone: each.zone,
      orgs: each.orgs,
      access: each.access,
      maxAccess: each.maxAccess,
      gateway: reference(each.gateway, namespaces),
    })),
  ];
}

/** The Gateway or ListenerSet of the API's route and of the first zone. */
export function sharedGateway({ gateway, namespaces }: StackConfig) {
  const { sectionName: listener, ...shared } = reference(gateway, namespaces);
  const isTheirs = gateway.existing !== undefined && gateway.listenerSet === undefined;
  const apiListener = isTheirs ? gateway.existing?.apiSectionName : LISTENERS.api;
  return { ...shared, listener, apiListener };
}

function reference(
  { existing, listenerSet, name }: Pick<ZoneGateway, 'existing' | 'listenerSet' | 'name'>,
  namespaces: StackConfig['namespaces'],
): GatewayReference & { readonly sectionName: string } {
  const { previews } = LISTENERS;
  if (listenerSet !== undefined) {
    return { kind: listenerSet, name, namespace: namespaces.functions, sectionName: previews };
  }
  return existing === undefined
    ? { name, namespace: namespaces.gateway, sectionName: previews }
    : { name: existing.name, namespace: existing.namespace, sectionName: existing.sectionName ?? previews };
}

/** Settings of a created Gateway have no effect on an existing one. */
export function gatewayProblems(config: StackConfig): [key: string, problem: string][] {
  const { gateway, zones, certificates } = config;
  const problems = oneGatewayProblems(gateway, 'gateway');
  const made = [gateway, ...zones.map((each) => each.gateway)].filter(hasObject);
  if (certificates.issuer !== undefined && made.length === 0) {
    problems.push(['certificates.issuer', 'is not used, because others keep every Gateway: remove it']);
  }
  for (const [at, { zone, gateway: own }] of zones.entries()) {
    const key = `zones.${at}`;
    problems.push(...oneGatewayProblems({ ...own, className: classOf(own, gateway) }, `${key}.gateway`));
    if (own.existing !== undefined && own.className !== undefined) {
      problems.push([`${key}.gateway.className`, unused(own.existing.name)]);
    }
    if (`.${config.apiHost}`.endsWith(`.${zone}`)) {
      problems.push([
        `${key}.zone`,
        `${config.apiHost} lies in it, the host of the API: name another domain`,
      ]);
    }
  }
  const names = made.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    problems.push(['zones', `the Gateway ${twice} is created twice: set gateway.name of the zone`]);
  return problems;
}

/** Whether the stack makes a Gateway or a ListenerSet, and so its certificates. */
function hasObject({ existing, listenerSet }: Pick<ZoneGateway, 'existing' | 'listenerSet'>): boolean {
  return existing === undefined || listenerSet !== undefined;
}

export function createsGateway({ gateway, zones }: StackConfig): boolean {
  return [gateway, ...zones.map((each) => each.gateway)].some(({ existing }) => existing === undefined);
}

/** Namespaces of the TLS Secrets that listeners of the stack name. */
export function secretNamespaces({ gateway, zones, namespaces }: StackConfig): string[] {
  const made = [gateway, ...zones.map((each) => each.gateway)].filter(hasObject);
  const names = made.map(({ listenerSet }) =>
    listenerSet === undefined ? namespaces.gateway : namespaces.functions,
  );
  return [...new Set(names)];
}

function oneGatewayProblems(
  gateway: Omit<ZoneGateway, 'existing'> & Pick<StackConfig['gateway'], 'existing' | 'listenerPort'>,
  key: string,
): [key: string, problem: string][] {
  const { existing, listenerSet, className, annotations, labels, infrastructure, addresses } = gateway;
  if (existing === undefined) {
    const problems: [string, string][] = [];
    if (listenerSet !== undefined) {
      problems.push([`${key}.listenerSet`, `needs ${key}.existing, the Gateway that it is attached to`]);
    } else if (className === undefined) {
      problems.push([`${key}.className`, `is required, unless ${key}.existing names a Gateway of others`]);
    }
    return problems;
  }
  const isSet = {
    className: key === 'gateway' && className !== undefined,
    annotations: Object.keys(annotations).length > 0,
    labels: Object.keys(labels).length > 0,
    infrastructure: infrastructure !== undefined,
    addresses: addresses.length > 0,
    listenerPort: listenerSet === undefined && gateway.listenerPort !== undefined,
    'existing.sectionName': listenerSet !== undefined && existing.sectionName !== undefined,
    'existing.apiSectionName': listenerSet !== undefined && existing.apiSectionName !== undefined,
  };
  const problems = Object.entries(isSet).flatMap(([name, is]): [string, string][] =>
    is ? [[`${key}.${name}`, unused(existing.name)]] : [],
  );
  if (listenerSet === undefined && existing.sectionName === undefined) {
    problems.push([`${key}.existing.sectionName`, 'is required, unless listenerSet adds listeners']);
  }
  return problems;
}

function unused(gateway: string): string {
  return `is not used, because others keep the Gateway ${gateway}: remove it`;
}

function classOf({ existing, className }: ZoneGateway, shared: StackConfig['gateway']) {
  return existing === undefined ? (className ?? shared.className) : undefined;
}

/**
 * What serves the zones, the first zone first. `existing`: a Gateway of others. `made`: a Gateway,
 * or a ListenerSet at such a Gateway, with the certificates of its listeners.
 */
export function gatewayPlans(config: StackConfig) {
  const { gateway, zones, certificates, apiHost, namespaces } = config;
  const api = {
    host: apiHost,
    routesFrom: [namespaces.functions],
    secret: certificates.apiSecret,
  };
  const port = gateway.listenerPort ?? gateway.port;
  return [
    onePlan(config, {
      zone: config.zone,
      gateway: { ...gateway, port },
      secret: certificates.previewSecret,
      api,
    }),
    ...zones.map(({ zone, gateway: own }) =>
      onePlan(config, {
        zone,
        gateway: { ...own, className: classOf(own, gateway), port },
        secret: own.secret ?? `${own.name}-tls`,
      }),
    ),
  ];
}

function onePlan(
  { namespaces, certificates }: StackConfig,
  {
    zone,
    gateway,
    secret,
    api,
  }: {
    readonly zone: string;
    readonly gateway: Omit<ZoneGateway, 'secret'> & { readonly port: number };
    readonly secret: string;
    readonly api?: { host: string; routesFrom: string[]; secret: string };
  },
) {
  const { existing, listenerSet, labels, annotations } = gateway;
  const props = {
    name: gateway.name,
    namespace: listenerSet === undefined ? namespaces.gateway : namespaces.functions,
    zone,
    // The functions answer for hosts of the zone that have no preview.
    routesFrom: [namespaces.previews, namespaces.functions],
    secret,
    ...(api !== undefined && { api }),
    issuer: certificates.issuer,
    port: gateway.port,
    labels: STACK_LABELS,
  };
  if (existing !== undefined && listenerSet === undefined) return { zone, existing };
  const made = { certificates: certificateManifests(props) };
  if (existing !== undefined && listenerSet !== undefined) {
    return {
      zone,
      existing,
      made: { ...made, manifest: listenerSetManifest(listenerSet, { ...props, gateway: existing }) },
    };
  }
  return {
    zone,
    made: {
      ...made,
      manifest: gatewayManifest({
        ...props,
        className: gateway.className ?? '',
        infrastructure: gateway.infrastructure,
        addresses: gateway.addresses,
        labels: { ...labels, ...STACK_LABELS },
        // The address is an output of the stack, so an update waits for it.
        annotations: { ...annotations, 'pulumi.com/waitFor': 'condition=Programmed' },
      }),
    },
  };
}

/** Extended features of the Gateway API without which a preview leaks headers of its app. */
const FEATURES = ['HTTPRouteResponseHeaderModification'];

/** What a GatewayClass lacks; one that reports no features is not checked. */
export function gatewayClassProblems(status?: {
  readonly supportedFeatures?: readonly { readonly name: string }[];
}): string[] {
  const supported = status?.supportedFeatures?.map(({ name }) => name) ?? [];
  if (supported.length === 0) return [];
  return FEATURES.filter((feature) => !supported.includes(feature)).map(
    (feature) => `does not support ${feature}: use a controller that does`,
  );
}

/**
 * What a Gateway of others lacks; what the cluster has not reported is not checked.
 * @param attached the kind of the object that adds listeners to it
 */
export function existingGatewayProblems(
  gateway: {
    readonly spec?:
      | {
          readonly listeners?: readonly { readonly name: string }[];
          readonly allowedListeners?: { readonly namespaces?: { readonly from?: string } };
        }
      | undefined;
    readonly status?:
      | { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
      | undefined;
  },
  sectionNames: readonly (string | undefined)[],
  attached?: string,
): string[] {
  const programmed = gateway.status?.conditions?.find(({ type }) => type === 'Programmed');
  const listeners = gateway.spec?.listeners?.map(({ name }) => name);
  // GEP-1713: a Gateway allows none by default.
  const allowed = gateway.spec?.allowedListeners?.namespaces?.from ?? 'None';
  return [
    ...(attached !== undefined && listeners !== undefined && allowed === 'None'
      ? [`allows no ${attached}: set spec.allowedListeners.namespaces`]
      : []),
    ...(programmed !== undefined && programmed.status !== 'True'
      ? ['is not programmed: see its conditions, and the log of its controller']
      : []),
    ...sectionNames.flatMap((name) =>
      name === undefined || listeners === undefined || listeners.includes(name)
        ? []
        : [`has no listener ${name}; it has ${listeners.join(', ')}`],
    ),
  ];
}
