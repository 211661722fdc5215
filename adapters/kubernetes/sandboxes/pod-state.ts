import { guestKeysOf } from '#protocol/guest/guest-pod.ts';
import type { KubernetesObject } from '../client/kubernetes-object.ts';

export interface Pod extends KubernetesObject {
  readonly spec?: {
    readonly containers?: readonly { readonly name: string; readonly command?: readonly string[] }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly podIPs?: readonly { readonly ip: string }[];
    readonly conditions?: readonly Condition[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
}

interface ContainerState {
  readonly reason?: string;
  readonly message?: string;
}

interface ContainerStatus {
  readonly name: string;
  readonly ready?: boolean;
  readonly state?: {
    readonly running?: object;
    readonly waiting?: ContainerState;
    readonly terminated?: ContainerState;
  };
}

export interface RunningPod {
  readonly name: string;
  readonly uid: string;
  readonly address?: string | undefined;
  /** Public keys that its guest accepts; undefined where the pod runs no guest. */
  readonly guestKeys?: string | undefined;
}

type PodState =
  | { readonly state: 'absent' }
  | { readonly state: 'running'; readonly pod: RunningPod }
  /**
   * Starting. `isHopeless`: it can never start, only another pod can. `lacks`: the scheduler finds
   * no node for it, or the node cannot pull its image, and `reason` is why.
   */
  | {
      readonly state: 'creating';
      readonly reason: string;
      readonly isHopeless: boolean;
      readonly lacks?: 'node' | 'image';
    }
  | { readonly state: 'ended'; readonly reason: string }
  | { readonly state: 'ending'; readonly reason: string };

/** Waiting reasons that are final for a container. */
const HOPELESS = new Set(['InvalidImageName', 'ErrImageNeverPull']);

/** Waiting reasons for an image that the kubelet goes on trying to pull. */
const UNPULLED = new Set(['ErrImagePull', 'ImagePullBackOff']);

/**
 * Message for an invalid image name, which the kubelet reports as retryable. It is from the library
 * with which container runtimes parse names.
 */
const NO_IMAGE = 'invalid reference format';

/** Reason for a pod with an image that lacks the guest. */
const NO_GUEST =
  "its image has no /porthole: add the line `COPY --from=porthole/guest /porthole /porthole` to its Dockerfile, with the name of your image that holds the guest's folder, or set PORTHOLE_GUEST_IMAGE to that name";

/** Whether the pod has the address that a server sees of a connection. */
export function isAtAddress(pod: Pod, address: string): boolean {
  // A server that listens on every address sees IPv4 as ::ffff:… (RFC 4291 §2.5.5.2).
  const ip = address.replace(/^::ffff:(?=\d+\.)/, '');
  return pod.status?.podIPs?.some((each) => each.ip === ip) ?? false;
}

export function podState(pod: Pod | undefined): PodState {
  if (pod === undefined) return { state: 'absent' };
  const { metadata, spec, status = {} } = pod;
  if (metadata.deletionTimestamp !== undefined) return { state: 'ending', reason: 'it is being stopped' };
  if (status.phase === 'Failed' || status.phase === 'Succeeded') {
    return { state: 'ended', reason: describeCondition(status, `its pod has ${status.phase.toLowerCase()}`) };
  }
  const names = spec?.containers?.map(({ name }) => name) ?? [];
  const container = names.includes('sandbox') ? 'sandbox' : names[0];
  const found = status.containerStatuses?.find(({ name }) => name === container);
  const condition = (type: string) => status.conditions?.find((each) => each.type === type);
  const ready = condition('Ready');
  if (ready?.status === 'True' && container !== undefined && found?.state?.running !== undefined) {
    const { name, uid } = metadata;
    const address = status.podIPs?.[0]?.ip;
    const guestKeys = guestKeysOf(spec?.containers?.find((each) => each.name === container)?.command);
    return {
      state: 'running',
      pod: {
        name,
        uid,
        ...(address !== undefined && { address }),
        ...(guestKeys !== undefined && { guestKeys }),
      },
    };
  }
  const scheduled = condition('PodScheduled');
  if (scheduled?.status === 'False') {
    const reason = describeCondition(scheduled, 'it has no node yet');
    const isRefused = scheduled.reason === 'Unschedulable';
    return { state: 'creating', reason, isHopeless: false, ...(isRefused && { lacks: 'node' }) };
  }
  // Until each init container is done, the sandbox container reports only `PodInitializing`.
  const waits = status.initContainerStatuses?.find((each) => each.ready !== true) ?? found;
  const held = waits?.state?.waiting ?? waits?.state?.terminated;
  // Container runtimes report: "exec: \"/porthole/node\": stat /porthole/node: no such file or
  // directory".
  // The control plane takes pods of a lost node out of service, without a reason.
  const otherwise =
    found?.state?.running === undefined
      ? 'its pod is coming up'
      : 'its pod is not ready: its node may be down';
  const message = held?.message ?? '';
  const hasNoGuest = message.includes('/porthole/node') && /no such file|not found/.test(message);
  return {
    state: 'creating',
    reason: hasNoGuest ? NO_GUEST : describeCondition(held ?? ready ?? {}, otherwise),
    ...(UNPULLED.has(held?.reason ?? '') && { lacks: 'image' }),
    isHopeless:
      hasNoGuest || HOPELESS.has(held?.reason ?? '') || (held?.message?.includes(NO_IMAGE) ?? false),
  };
}

/** The cluster's reason and message, bounded. */
export function describeCondition(
  { reason, message }: { readonly reason?: string; readonly message?: string },
  otherwise: string,
): string {
  const words = [reason, message].filter(Boolean).join(': ');
  return words === '' ? otherwise : words.slice(0, 500);
}
