import { type GatewayReference, listenerGroup, listenerVersion } from '#constructs/gateway-manifests.ts';
import type { KubernetesClient } from '../client/kubernetes-client.ts';
import { absent, isReason } from '../client/kubernetes-error.ts';
import { collection, type KubernetesObject } from '../client/kubernetes-object.ts';
import { ExaminationError } from './finding.ts';

const GROUP = 'gateway.networking.k8s.io';

interface Listener {
  readonly name: string;
  readonly hostname?: string;
  readonly port: number;
  readonly protocol: string;
}
interface Listened extends KubernetesObject {
  readonly spec: {
    readonly gatewayClassName?: string;
    /** Of a ListenerSet. */
    readonly parentRef?: { readonly name: string; readonly namespace?: string };
    readonly listeners?: readonly Listener[];
  };
  readonly status?: { readonly addresses?: readonly { readonly value: string }[] };
}
interface GatewayClass extends KubernetesObject {
  readonly spec: { readonly controllerName: string };
  readonly status?: { readonly supportedFeatures?: readonly ({ readonly name: string } | string)[] };
}

export interface FoundGateway {
  readonly reference: GatewayReference;
  readonly className: string;
  readonly controllerName: string | undefined;
  readonly supported: readonly string[];
  readonly zone: string;
  readonly port: number;
  readonly address: string | undefined;
}

/** @throws ExaminationError that names the setting */
export async function findGateway(
  client: KubernetesClient,
  wanted: GatewayReference & { readonly zone?: string | undefined },
  signal: AbortSignal,
): Promise<FoundGateway> {
  await requireDefinitions(client, signal);
  const { zone, kind = 'Gateway' } = wanted;
  const listened = await read(client, wanted, signal);
  const parent = listened.spec.parentRef;
  const gateway =
    parent === undefined
      ? listened
      : await read(client, { namespace: wanted.namespace, ...parent, kind: 'Gateway' }, signal);
  const listener = chooseListener(listened.spec.listeners ?? [], wanted, `${kind} ${pathOf(wanted)}`);
  const className = gateway.spec.gatewayClassName ?? '';
  const gatewayClass = await client
    .get<GatewayClass>(
      { path: `/apis/${GROUP}/v1/gatewayclasses`, plural: 'gatewayclasses' },
      className,
      signal,
    )
    // Who may read the Gateway may not be allowed to read its class.
    .catch((error: unknown) => (isReason(error, 'Forbidden') ? undefined : absent(error)));
  return {
    reference: { kind, name: wanted.name, namespace: wanted.namespace, sectionName: listener.name },
    className,
    controllerName: gatewayClass?.spec.controllerName,
    supported: (gatewayClass?.status?.supportedFeatures ?? []).map((each) =>
      // Text in the experimental channel of Gateway API 1.1 and 1.2.
      typeof each === 'string' ? each : each.name,
    ),
    zone: zone ?? zoneOf(listener),
    port: listener.port,
    address: gateway.status?.addresses?.[0]?.value,
  };
}

async function requireDefinitions(client: KubernetesClient, signal: AbortSignal): Promise<void> {
  const found = await client.get({ path: `/apis/${GROUP}`, plural: 'versions' }, 'v1', signal).catch(absent);
  if (found !== undefined) return;
  throw new ExaminationError(
    'The cluster has no Gateway API: install its definitions and a controller, or name another cluster with --context.',
  );
}

async function read(
  client: KubernetesClient,
  { kind = 'Gateway', name, namespace }: GatewayReference,
  signal: AbortSignal,
): Promise<Listened> {
  const group = {
    group: listenerGroup(kind),
    version: listenerVersion(kind),
    plural: `${kind.toLowerCase()}s`,
  };
  const found = await client.get<Listened>(collection(group, namespace), name, signal).catch(absent);
  if (found !== undefined) return found;
  const others: string[] = [];
  const all = { ...collection(group, ''), path: `/apis/${group.group}/${group.version}/${group.plural}` };
  try {
    for await (const { metadata } of client.list(all, {}, signal)) others.push(pathOf(metadata));
  } catch (error) {
    if (!isReason(error, 'Forbidden', 'NotFound')) throw error;
  }
  throw new ExaminationError(
    `There is no ${kind} ${namespace}/${name}: set --gateway-name and --gateway-namespace. The cluster shows ${others.join(', ') || 'none'}.`,
  );
}

function chooseListener(
  listeners: readonly Listener[],
  { sectionName }: GatewayReference,
  where: string,
): Listener {
  const chosen = listeners.find(({ name, protocol, hostname }) =>
    sectionName === undefined ? protocol === 'HTTPS' && hostname?.startsWith('*.') : name === sectionName,
  );
  if (chosen?.protocol === 'HTTPS') return chosen;
  const known = listeners.map(({ name, protocol }) => `${name} (${protocol})`).join(', ') || 'none';
  const lacks =
    sectionName === undefined ? 'no HTTPS listener with a wildcard' : `no HTTPS listener ${sectionName}`;
  throw new ExaminationError(`The ${where} has ${lacks}; it has ${known}: set --listener, or add one.`);
}

function zoneOf({ name, hostname }: Listener): string {
  if (hostname?.startsWith('*.')) return hostname.slice(2);
  throw new ExaminationError(
    `The listener ${name} has no wildcard as hostname: set --zone to the domain of previews.`,
  );
}

function pathOf({ namespace = '', name }: { readonly namespace?: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
