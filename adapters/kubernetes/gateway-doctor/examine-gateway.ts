import { randomBytes } from 'node:crypto';
import type { GatewayReference } from '#constructs/gateway-manifests.ts';
import type { KubernetesClient } from '../client/kubernetes-client.ts';
import { isReason, KubernetesError } from '../client/kubernetes-error.ts';
import {
  collection,
  HTTP_ROUTES,
  type Kind,
  type KubernetesObject,
  PODS,
  SERVICES,
} from '../client/kubernetes-object.ts';
import type { GatewayTarget } from './ask-gateway.ts';
import { awaitPod, awaitRoute } from './await-route.ts';
import { factsOf } from './controllers.ts';
import { ExaminationError, type Feature, type Finding, lacking } from './finding.ts';
import { findGateway, type FoundGateway } from './find-gateway.ts';
import { readInstallation } from './installation.ts';
import { probePod, type ProbePlan, probeRoute } from './probe-objects.ts';
import { type GatewayFacts, measureGateway } from './measure-gateway.ts';

export interface ExaminationOptions {
  readonly namespace: string;
  readonly gatewayName?: string | undefined;
  readonly gatewayNamespace?: string | undefined;
  readonly listener?: string | undefined;
  readonly zone?: string | undefined;
  /** Where this machine reaches the gateway. */
  readonly address?: { readonly host: string; readonly port?: number | undefined } | undefined;
  readonly image?: string | undefined;
  /** PEM of the authority of the gateway's certificate. */
  readonly ca?: string | undefined;
  /** How long an answer stays silent, in milliseconds. */
  readonly holdMs: number;
  /** How long the gateway may take to serve the route, in milliseconds. */
  readonly waitMs: number;
}

export interface Examination {
  readonly gateway: string;
  readonly class: string;
  readonly features: readonly Finding[];
}

const CLEANUP_MS = 10_000;
const UNMEASURED: readonly Feature[] = ['headers', 'websocket', 'sse', 'timeouts', 'body', 'certificate'];

/**
 * Checks what Porthole needs of a Gateway by a pod, a Service and the route of a preview, and
 * removes all three also if it fails or the signal aborts.
 * @throws ExaminationError that names the setting
 */
export async function examineGateway(
  client: KubernetesClient,
  options: ExaminationOptions,
  signal: AbortSignal,
): Promise<Examination> {
  const { plan, gateway, target } = await planProbe(client, options, signal);
  const made = new Set<Kind>();
  try {
    const route = await makeProbe(client, plan, made, signal);
    await awaitPod(client, plan, signal);
    const served = await awaitRoute(client, plan, { target, waitMs: options.waitMs }, signal);
    const features = served.ok
      ? await measureGateway(target, factsFor(gateway, route, options), signal)
      : UNMEASURED.map((each) => lacking(each, 'not checked, because the route does not serve', 'see route'));
    return {
      gateway: `${gateway.reference.namespace}/${gateway.reference.name}`,
      class: gateway.className,
      features: [served, ...features],
    };
  } finally {
    await removeProbe(client, plan, made);
  }
}

async function planProbe(client: KubernetesClient, options: ExaminationOptions, signal: AbortSignal) {
  const { namespace, address } = options;
  const { environment, ...installed } = await readInstallation(client, namespace, signal);
  const image = options.image ?? installed.image;
  if (image === undefined) {
    throw new ExaminationError(
      `Namespace ${namespace} has no Deployment porthole to take the image from: set --image to an image with Node, or --namespace.`,
    );
  }
  const isOther = options.gatewayName !== undefined || options.gatewayNamespace !== undefined;
  const own = isOther ? {} : environment;
  const gateway = await findGateway(
    client,
    {
      kind: own['PORTHOLE_GATEWAY_KIND'] as GatewayReference['kind'],
      name:
        options.gatewayName ?? environment['Sandbox__Preview__GatewayName'] ?? 'agentweaver-preview-gateway',
      namespace:
        options.gatewayNamespace ?? environment['Sandbox__Preview__GatewayNamespace'] ?? 'agentweaver',
      sectionName: options.listener ?? own['PORTHOLE_GATEWAY_LISTENER'],
      zone: options.zone ?? own['Sandbox__Preview__ZoneSuffix'],
    },
    signal,
  );
  const host = address?.host ?? gateway.address;
  if (host === undefined) {
    throw new ExaminationError(
      `The Gateway ${gateway.reference.namespace}/${gateway.reference.name} has no address: see its conditions and its controller's log, or set --address.`,
    );
  }
  const port = address?.port ?? Number(own['PORTHOLE_GATEWAY_PORT'] ?? gateway.port);
  const name = `porthole-doctor-${randomBytes(4).toString('hex')}`;
  const target: GatewayTarget = { host, port, hostname: `${name}.${gateway.zone}`, ca: options.ca };
  const plan: ProbePlan = {
    name,
    namespace,
    image,
    podSpec: installed.podSpec,
    hostname: target.hostname,
    publicPort: port,
    gateway: gateway.reference,
    serviceKind: environment['PORTHOLE_GATEWAY_SERVICE_KIND'] === 'clusterip' ? 'clusterip' : 'headless',
    deadlineSeconds: Math.ceil(options.holdMs / 1_000) + 120,
  };
  return { plan, gateway, target };
}

interface StoredRoute extends KubernetesObject {
  readonly spec: { readonly rules: readonly { readonly timeouts?: object }[] };
}

/**
 * Makes the objects, and adds their kinds to `made`. Creations run to their end: an aborted one
 * could take effect after the removal.
 */
async function makeProbe(
  client: KubernetesClient,
  plan: ProbePlan,
  made: Set<Kind>,
  signal: AbortSignal,
): Promise<StoredRoute> {
  const make = async <T extends KubernetesObject>(kind: Kind, object: object): Promise<T> => {
    signal.throwIfAborted();
    made.add(kind);
    try {
      return await client.create<T>(collection(kind, plan.namespace), object);
    } catch (error) {
      if (error instanceof KubernetesError && !error.inDoubt) made.delete(kind);
      throw refusal(error, kind, plan);
    }
  };
  const pod = await make(PODS, probePod(plan));
  const { service, route } = probeRoute(plan, pod.metadata.uid);
  await make(SERVICES, service);
  return make<StoredRoute>(HTTP_ROUTES, route);
}

/** A refused creation, with the setting to change. */
function refusal(error: unknown, { plural }: Kind, { namespace }: ProbePlan): unknown {
  if (isReason(error, 'NotFound')) {
    return new ExaminationError(`There is no namespace ${namespace}: set --namespace.`, { cause: error });
  }
  if (!isReason(error, 'Forbidden', 'Invalid')) return error;
  return new ExaminationError(
    `The cluster refuses ${plural} in namespace ${namespace} (${error.message}): ask for the right to create and delete pods, services and httproutes there, or set --namespace or --context.`,
    { cause: error },
  );
}

async function removeProbe(
  client: KubernetesClient,
  { name, namespace }: ProbePlan,
  made: ReadonlySet<Kind>,
): Promise<void> {
  const signal = AbortSignal.timeout(CLEANUP_MS);
  const removed = await Promise.allSettled(
    [...made].map((kind) => client.delete(collection(kind, namespace), name, {}, signal)),
  );
  const failed = removed.find((each) => each.status === 'rejected');
  if (failed === undefined) return;
  throw new ExaminationError(
    `The probe could not be removed (${String(failed.reason)}): kubectl --namespace ${namespace} delete pod,service,httproute ${name}`,
  );
}

function factsFor(
  gateway: FoundGateway,
  { spec }: StoredRoute,
  { holdMs }: ExaminationOptions,
): GatewayFacts {
  return {
    isStored: spec.rules.every(({ timeouts }) => timeouts !== undefined),
    supported: gateway.supported,
    controller: factsOf(gateway.controllerName),
    holdMs,
  };
}
