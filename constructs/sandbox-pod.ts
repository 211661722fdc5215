import { ApiObject, App, Chart, Duration, JsonPatch, Size } from 'cdk8s';
import * as kplus from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { GUEST_STATE, guestInstaller, guestPod } from '../guest/protocol/guest-pod.ts';
import {
  NETWORK_LABELS,
  SANDBOX_LABELS,
  SANDBOX_POD_LABELS,
  sandboxIdLabels,
  sandboxObjectName,
} from './names.ts';
import { placementFields, type PodPlacement } from './pod-placement.ts';
import { SANDBOX_SIZE } from './sandbox-size.ts';

export interface SandboxPodProps extends PodPlacement {
  readonly namespace: string;
  readonly sandboxId: string;
  readonly image: string;
  /** Public keys of those who may call the guest, separated by commas. */
  readonly guestKeys: string;
  /**
   * Image that has the guest in /porthole, which an init container copies into the pod.
   * @default - the sandbox's image has the guest in /porthole
   */
  readonly guestImage?: string;
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
   * Whether a broker makes its connections, so that its commands use the guest's proxy.
   * @default false
   */
  readonly brokered?: boolean;
  /**
   * StorageClass of /workspace.
   * @default - the cluster's default
   */
  readonly storageClass?: string;
  /**
   * Secret of type kubernetes.io/dockerconfigjson in the namespace, which the image is pulled with.
   * @default - what the namespace's default service account has
   */
  readonly pullSecret?: string;
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
   * Whether the pod shares the node's user namespace; false takes Kubernetes 1.33 and a runtime
   * that can (containerd 2).
   * @default true
   */
  readonly hostUsers?: boolean;
  /**
   * User and group that everything runs as; never 0.
   * @default 1000
   */
  readonly user?: number;
}

const HOME = '/home/sandbox';

/**
 * A sandbox as a pod with its own volume. It runs as an ordinary user without capabilities,
 * privilege escalation or a service account's token, under the runtime's seccomp profile, within
 * limits. Only /workspace, which outlives the pod, its home and /tmp are writable.
 */
export class SandboxPod extends Construct {
  readonly pod: ApiObject;
  readonly volumeClaim: ApiObject;

  /** @throws Error that names the property with the invalid value */
  constructor(scope: Construct, id: string, props: SandboxPodProps) {
    super(scope, id);
    const {
      sandboxId,
      namespace,
      image,
      guestKeys,
      guestImage,
      cpuLimitMillis = SANDBOX_SIZE.cpuLimitMillis,
      cpuRequestMillis = Math.min(100, cpuLimitMillis),
      memoryMebibytes = SANDBOX_SIZE.memoryMebibytes,
      workspaceMebibytes = SANDBOX_SIZE.workspaceMebibytes,
      scratchMebibytes = SANDBOX_SIZE.scratchMebibytes,
      network = false,
      brokered = false,
      storageClass,
      pullSecret,
      labels = {},
      annotations = {},
      hostUsers = true,
      user = 1_000,
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
    // The library's own class takes whole GiB only.
    this.volumeClaim = new ApiObject(this, 'workspace', {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata,
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: `${workspaceMebibytes}Mi` } },
        ...(storageClass !== undefined && { storageClassName: storageClass }),
      },
    });
    const memory = Size.mebibytes(memoryMebibytes);
    const pod = new kplus.Pod(this, 'pod', {
      metadata: {
        ...metadata,
        labels: { ...labels, ...metadata.labels, ...SANDBOX_POD_LABELS, ...(network && NETWORK_LABELS) },
        ...(Object.keys(annotations).length > 0 && { annotations }),
      },
      automountServiceAccountToken: false,
      restartPolicy: kplus.RestartPolicy.ALWAYS,
      terminationGracePeriod: Duration.seconds(2),
      securityContext: {
        ensureNonRoot: true,
        user,
        group: user,
        fsGroup: user,
        fsGroupChangePolicy: kplus.FsGroupChangePolicy.ON_ROOT_MISMATCH,
      },
    });
    const base = { HOME, WORKSPACE: '/workspace', SANDBOX_ID: sandboxId };
    const guest = guestPod(guestKeys, base, brokered);
    const common = {
      // A runtime cannot start in a folder that its user may not enter.
      workingDir: '/',
      imagePullPolicy: kplus.ImagePullPolicy.IF_NOT_PRESENT,
      resources: {
        cpu: {
          request: kplus.Cpu.millis(cpuRequestMillis),
          limit: kplus.Cpu.millis(cpuLimitMillis),
        },
        memory: { request: memory, limit: memory },
      },
      securityContext: {
        ensureNonRoot: true,
        allowPrivilegeEscalation: false,
        privileged: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: [kplus.Capability.ALL] },
        seccompProfile: { type: kplus.SeccompProfileType.RUNTIME_DEFAULT },
      },
    };
    const container = pod.addContainer({
      ...common,
      name: 'sandbox',
      image,
      command: [...guest.command],
      envVariables: {
        HOME: kplus.EnvValue.fromValue(HOME),
        WORKSPACE: kplus.EnvValue.fromValue('/workspace'),
        SANDBOX_ID: kplus.EnvValue.fromValue(sandboxId),
      },
    });
    const scratch = (volume: string) =>
      kplus.Volume.fromEmptyDir(this, volume, volume, { sizeLimit: Size.mebibytes(scratchMebibytes) });
    const stored = kplus.PersistentVolumeClaim.fromClaimName(this, 'stored', name);
    const files = kplus.Volume.fromPersistentVolumeClaim(this, 'files', stored, { name: 'workspace' });
    container.mount('/workspace', files);
    container.mount('/tmp', scratch('tmp'));
    container.mount(HOME, scratch('home'));
    container.mount(GUEST_STATE, scratch('guest'));
    if (guestImage !== undefined) {
      const { name, command, volume, target, mountPath, mebibytes } = guestInstaller();
      const sizeLimit = Size.mebibytes(mebibytes);
      const folder = kplus.Volume.fromEmptyDir(this, volume, volume, { sizeLimit });
      pod.addInitContainer({ ...common, name, image: guestImage, command }).mount(target, folder);
      container.mount(mountPath, folder, { readOnly: true });
    }
    this.pod = ApiObject.of(pod);
    this.pod.addJsonPatch(
      // The pause process reaps the orphaned processes of commands.
      JsonPatch.add('/spec/shareProcessNamespace', true),
      // Keeps the namespace's other Services out of its environment.
      JsonPatch.add('/spec/enableServiceLinks', false),
      ...guest.env.map((each) => JsonPatch.add('/spec/containers/0/env/-', each)),
      ...Object.entries(placementFields(props)).map(([field, value]) =>
        JsonPatch.add(`/spec/${field}`, value),
      ),
      ...(hostUsers ? [] : [JsonPatch.add('/spec/hostUsers', false)]),
      // The library takes only a Secret of the same app.
      ...(pullSecret === undefined ? [] : [JsonPatch.add('/spec/imagePullSecrets', [{ name: pullSecret }])]),
    );
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
