import { ApiObject, App, Chart } from 'cdk8s';
import { Construct } from 'constructs';
import { sandboxPodSpec, type SandboxProps, workspaceSpec } from './agent-sandbox-manifests.ts';
import {
  NETWORK_LABELS,
  SANDBOX_LABELS,
  SANDBOX_POD_LABELS,
  sandboxIdLabels,
  sandboxObjectName,
} from './names.ts';
import { SANDBOX_SIZE } from '../protocol/settings/sandbox-size.ts';

export interface SandboxPodProps extends SandboxProps {
  readonly sandboxId: string;
  /**
   * CPU limit, in thousandths of a core.
   * @default 2000
   */
  readonly cpuLimitMillis?: number;
  /**
   * CPU request, in thousandths of a core.
   * @default 100, or its limit where that is less
   */
  readonly cpuRequestMillis?: number;
  /**
   * Memory in MiB, both request and limit: with a lower request, a sandbox is killed when its node
   * runs out of memory.
   * @default 2048
   */
  readonly memoryMebibytes?: number;
  /**
   * Size of /workspace in MiB.
   * @default 10240
   */
  readonly workspaceMebibytes?: number;
  /**
   * Most that /tmp and the home folder may each hold, in MiB.
   * @default 2048
   */
  readonly scratchMebibytes?: number;
  /**
   * Whether network policies let it reach the internet, without metadata and private addresses.
   * @default false
   */
  readonly network?: boolean;
  /**
   * Labels of the pod besides Porthole's.
   * @default - none
   */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * Annotations of the pod.
   * @default - none
   */
  readonly annotations?: Readonly<Record<string, string>>;
  /**
   * User and group that everything runs as; never 0.
   * @default 1000
   */
  readonly user?: number;
}

/** A sandbox as a pod with its own volume. */
export class SandboxPod extends Construct {
  readonly pod: ApiObject;
  readonly volumeClaim: ApiObject;

  /** @throws Error that names the property with the invalid value */
  constructor(scope: Construct, id: string, props: SandboxPodProps) {
    super(scope, id);
    const { sandboxId, namespace, image, network = false, labels, annotations = {}, user = 1_000 } = props;
    const {
      cpuLimitMillis = SANDBOX_SIZE.cpuLimitMillis,
      cpuRequestMillis = Math.min(100, cpuLimitMillis),
      memoryMebibytes = SANDBOX_SIZE.memoryMebibytes,
      workspaceMebibytes = SANDBOX_SIZE.workspaceMebibytes,
      scratchMebibytes = SANDBOX_SIZE.scratchMebibytes,
    } = props;
    if (image.trim() === '') throw new Error('SandboxPod.image must name a container image, got nothing.');
    const whole = {
      cpuLimitMillis,
      cpuRequestMillis,
      memoryMebibytes,
      workspaceMebibytes,
      scratchMebibytes,
      user,
    };
    for (const [property, value] of Object.entries(whole)) {
      if (!Number.isSafeInteger(value) || value < 1) {
        throw new Error(`SandboxPod.${property} must be a whole number above 0, got ${value}.`);
      }
    }
    if (cpuRequestMillis > cpuLimitMillis) {
      throw new Error(
        `SandboxPod.cpuRequestMillis (${cpuRequestMillis}) must not be above cpuLimitMillis (${cpuLimitMillis}).`,
      );
    }

    const name = sandboxObjectName(sandboxId);
    const metadata = { name, namespace, labels: { ...SANDBOX_LABELS, ...sandboxIdLabels(sandboxId) } };
    this.volumeClaim = new ApiObject(this, 'workspace', {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata,
      spec: workspaceSpec(`${workspaceMebibytes}Mi`, props),
    });
    const memory = `${memoryMebibytes}Mi`;
    this.pod = new ApiObject(this, 'pod', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...metadata,
        labels: { ...labels, ...metadata.labels, ...SANDBOX_POD_LABELS, ...(network && NETWORK_LABELS) },
        ...(Object.keys(annotations).length > 0 && { annotations }),
      },
      spec: sandboxPodSpec(props, {
        resources: {
          requests: { cpu: `${cpuRequestMillis}m`, memory },
          limits: { cpu: `${cpuLimitMillis}m`, memory },
        },
        sandbox: { id: sandboxId, claimName: name },
        scratch: `${scratchMebibytes}Mi`,
        user,
        imagePullPolicy: 'IfNotPresent',
      }),
    });
  }
}

/** Both manifests of a sandbox, without an app around them. */
export function sandboxPodManifests(props: SandboxPodProps): {
  readonly pod: object;
  readonly volumeClaim: object;
} {
  const chart = new Chart(new App(), 'sandboxes', { disableResourceNameHashes: true });
  const { pod, volumeClaim } = new SandboxPod(chart, props.sandboxId, props);
  return { pod: pod.toJson() as object, volumeClaim: volumeClaim.toJson() as object };
}
