import { setTimeout as pause } from 'node:timers/promises';
import type { KubernetesClient } from '../client/kubernetes-client.ts';
import { collection, HTTP_ROUTES, PODS } from '../client/kubernetes-object.ts';
import type { StoredRoute } from '../previews/preview-store.ts';
import { type Condition, describeCondition, type Pod, podState } from '../sandboxes/pod-state.ts';
import { askGateway, type GatewayTarget, reasonOf } from './ask-gateway.ts';
import { ExaminationError, type Finding, found, lacking } from './finding.ts';

const POD_MS = 25_000;
const EVERY_MS = 250;

interface Probe {
  readonly name: string;
  readonly namespace: string;
  readonly image: string;
}

/** @throws ExaminationError if the pod cannot start */
export async function awaitPod(client: KubernetesClient, probe: Probe, signal: AbortSignal): Promise<void> {
  const { name, namespace, image } = probe;
  for (const deadline = performance.now() + POD_MS; ; await pause(EVERY_MS, undefined, { signal })) {
    const state = podState(await client.get<Pod>(collection(PODS, namespace), name, signal));
    if (state.state === 'running') return;
    const reason = 'reason' in state ? state.reason : state.state;
    const isFinal =
      state.state !== 'creating' ||
      state.isHopeless ||
      state.lacks === 'image' ||
      /StartError|RunContainer/.test(reason);
    if (isFinal || performance.now() > deadline) {
      throw new ExaminationError(
        `The probe's pod in namespace ${namespace} does not run ${image} (${reason}): set --image to an image with Node that the cluster can pull, or --namespace.`,
      );
    }
  }
}

/** Waits until the pod answers through the gateway, or says why it does not. */
export async function awaitRoute(
  client: KubernetesClient,
  { name, namespace }: Pick<Probe, 'name' | 'namespace'>,
  { target, waitMs }: { readonly target: GatewayTarget; readonly waitMs: number },
  signal: AbortSignal,
): Promise<Finding> {
  const began = performance.now();
  let last = '';
  for (; performance.now() - began < waitMs; await pause(EVERY_MS, undefined, { signal })) {
    last = await ask(target, name, AbortSignal.any([signal, AbortSignal.timeout(3_000)]));
    signal.throwIfAborted();
    if (last === '') return found('route', `served ${seconds(performance.now() - began)} after its pod`);
  }
  const { status } = await client.get<StoredRoute>(collection(HTTP_ROUTES, namespace), name, signal);
  const conditions = status?.parents?.flatMap((parent) => parent.conditions ?? []) ?? [];
  return unserved(conditions, last, target, namespace);
}

/** What is wrong with the answer; empty for that of the pod. */
async function ask(target: GatewayTarget, id: string, signal: AbortSignal): Promise<string> {
  try {
    const answer = await askGateway(target, { path: '/' }, signal);
    answer.destroy();
    if (answer.headers['x-porthole-probe'] === id) return '';
    return `answers ${answer.statusCode}`;
  } catch (error) {
    return `does not answer (${reasonOf(error)})`;
  }
}

export function unserved(
  conditions: readonly Condition[],
  last: string,
  { host, port }: GatewayTarget,
  namespace: string,
): Finding {
  const refusal = conditions.find(
    ({ type, status }) => ['Accepted', 'ResolvedRefs'].includes(type) && status === 'False',
  );
  if (refusal !== undefined) {
    const change =
      refusal.reason === 'NotAllowedByListeners'
        ? `admit namespace ${namespace} in allowedRoutes of the listener, or set --namespace`
        : "remove what the controller refuses, or use a controller that supports a preview's route";
    return lacking('route', `refused: ${describeCondition(refusal, refusal.type)}`, change);
  }
  const where = `the gateway at ${host}:${port} ${last}`;
  if (conditions.length === 0) {
    return lacking(
      'route',
      `no controller has accepted it; ${where}`,
      "start the controller of the Gateway's class",
    );
  }
  if (last.startsWith('does not answer')) {
    return lacking(
      'route',
      `accepted, but ${where}`,
      'set --address to where this machine reaches the gateway',
    );
  }
  return lacking(
    'route',
    `accepted, but ${where}`,
    `admit the gateway's pods to namespace ${namespace} in network policies, and see the controller's log; or set --address`,
  );
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
