/**
 * Manifests of agent-sandbox, as plain objects: shared by the constructs, which need cdk8s, and the
 * infrastructure program, which does not. Values are not checked here.
 */
import { GUEST_STATE, guestInstaller, guestPod } from '../protocol/guest/guest-pod.ts';
import { LABELS, SANDBOX_POD_LABELS } from './names.ts';
import { placementFields, type PodPlacement } from './pod-placement.ts';

/** API of templates, warm pools and claims. */
export const AGENT_SANDBOX_API = 'extensions.agents.x-k8s.io/v1beta1';

/** What a sandbox of a template may use, where nothing else is asked for. */
export const TEMPLATE_SIZE = { cpu: '1', memory: '1Gi', storage: '1Gi' } as const;

/** The user that sandboxes run as. */
const USER = 1_000;
const HOME = '/home/sandbox';
const WORKSPACE = '/workspace';
/** Size limit of `/tmp`, of the home folder and of the guest's state, each. */
const SCRATCH = '2Gi';

/** Properties of all sandbox pods. */
export interface SandboxProps extends PodPlacement {
  readonly namespace: string;
  readonly image: string;
  /** Public keys of those who may call the guest, separated by commas. */
  readonly guestKeys: string;
  /**
   * Image that has the guest in /porthole, which an init container copies into the pod.
   * @default - the sandbox's image has the guest in /porthole
   */
  readonly guestImage?: string | undefined;
  /**
   * Whether a broker makes its connections, so that its commands use the guest's proxy.
   * @default false
   */
  readonly brokered?: boolean;
  /**
   * StorageClass of /workspace.
   * @default - the cluster's default
   */
  readonly storageClass?: string | undefined;
  /**
   * Secret of type kubernetes.io/dockerconfigjson in the namespace, which images are pulled with.
   * @default - what the namespace's default service account has
   */
  readonly pullSecret?: string | undefined;
  /**
   * Whether pods share the node's user namespace; false takes Kubernetes 1.33 and a runtime that
   * can (containerd 2).
   * @default true
   */
  readonly hostUsers?: boolean;
}

export interface SandboxTemplateProps extends SandboxProps {
  readonly name: string;
  /**
   * CPU limit, a Kubernetes quantity. A sandbox requests a tenth of a core.
   * @default '1'
   */
  readonly cpu?: string;
  /**
   * Memory, both request and limit: with a lower request, a sandbox is killed when its node runs
   * out of memory.
   * @default '1Gi'
   */
  readonly memory?: string;
  /**
   * Size of /workspace.
   * @default '1Gi'
   */
  readonly storage?: string;
  /**
   * Labels of the template.
   * @default - none
   */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * Labels of its pods besides Porthole's.
   * @default - none
   */
  readonly podLabels?: Readonly<Record<string, string>>;
  /**
   * Annotations of its pods.
   * @default - none
   */
  readonly podAnnotations?: Readonly<Record<string, string>>;
}

/**
 * `Unmanaged`: network policies are additive, so the one that agent-sandbox would create for a
 * template would reopen egress that others deny.
 */
export function sandboxTemplateManifest(props: SandboxTemplateProps) {
  const { name, namespace, labels, podLabels, podAnnotations = {} } = props;
  const { cpu = TEMPLATE_SIZE.cpu, memory = TEMPLATE_SIZE.memory, storage = TEMPLATE_SIZE.storage } = props;
  return {
    apiVersion: AGENT_SANDBOX_API,
    kind: 'SandboxTemplate',
    metadata: { name, namespace, ...(labels !== undefined && { labels }) },
    spec: {
      networkPolicyManagement: 'Unmanaged',
      envVarsInjectionPolicy: 'Disallowed',
      volumeClaimTemplatesPolicy: 'Disallowed',
      podTemplate: {
        metadata: {
          // Network policies also apply to pods that wait in a warm pool.
          labels: { ...podLabels, ...SANDBOX_POD_LABELS },
          ...(Object.keys(podAnnotations).length > 0 && { annotations: podAnnotations }),
        },
        spec: sandboxPodSpec(props, {
          resources: { requests: { cpu: '100m', memory }, limits: { cpu, memory } },
        }),
      },
      volumeClaimTemplates: [{ metadata: { name: 'workspace' }, spec: workspaceSpec(storage, props) }],
    },
  };
}

/** Spec of the volume claim of /workspace. */
export function workspaceSpec(storage: string, { storageClass }: Pick<SandboxProps, 'storageClass'>) {
  return {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage } },
    ...(storageClass !== undefined && { storageClassName: storageClass }),
  };
}

export interface SandboxPodOptions {
  readonly resources: Readonly<
    Record<'requests' | 'limits', { readonly cpu: string; readonly memory: string }>
  >;
  /**
   * The sandbox that the pod belongs to, and the volume claim of its /workspace.
   * @default - known when the pod is claimed; its owner adds the volume
   */
  readonly sandbox?: { readonly id: string; readonly claimName: string };
  /** @default '2Gi' */
  readonly scratch?: string;
  /** @default 1000 */
  readonly user?: number;
  /** @default - Kubernetes' */
  readonly imagePullPolicy?: 'IfNotPresent';
}

/**
 * A sandbox's PodSpec. It runs as an ordinary user without capabilities, privilege escalation or a
 * service account's token, under the runtime's seccomp profile, within limits. Only /workspace,
 * which outlives the pod, the guest's state, its home and /tmp are writable.
 */
export function sandboxPodSpec(props: SandboxProps, options: SandboxPodOptions) {
  const { image, guestKeys, guestImage, pullSecret, hostUsers = true, brokered } = props;
  const { resources, sandbox, scratch = SCRATCH, user = USER, imagePullPolicy } = options;
  const base = { HOME, WORKSPACE, ...(sandbox !== undefined && { SANDBOX_ID: sandbox.id }) };
  const guest = guestPod(guestKeys, base, brokered);
  const installer = guestImage === undefined ? undefined : guestInstaller();
  const folders = { tmp: '/tmp', home: HOME, guest: GUEST_STATE };
  const common = {
    // A runtime cannot start in a folder that its user may not enter.
    workingDir: '/',
    ...(imagePullPolicy !== undefined && { imagePullPolicy }),
    resources,
    securityContext: {
      runAsNonRoot: true,
      privileged: false,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
  };
  return {
    automountServiceAccountToken: false,
    // Keeps the namespace's other Services out of its environment.
    enableServiceLinks: false,
    // The pause process reaps the orphaned processes of commands.
    shareProcessNamespace: true,
    terminationGracePeriodSeconds: 2,
    ...(pullSecret !== undefined && { imagePullSecrets: [{ name: pullSecret }] }),
    ...placementFields(props),
    ...(!hostUsers && { hostUsers: false }),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: user,
      fsGroup: user,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...(installer !== undefined && {
      initContainers: [
        {
          ...common,
          name: installer.name,
          image: guestImage,
          command: installer.command,
          volumeMounts: [{ name: installer.volume, mountPath: installer.target }],
        },
      ],
    }),
    containers: [
      {
        ...common,
        name: 'sandbox',
        image,
        command: guest.command,
        env: [
          { name: 'HOME', value: HOME },
          { name: 'WORKSPACE', value: WORKSPACE },
          ...guest.env,
          {
            name: 'SANDBOX_ID',
            ...(sandbox === undefined
              ? // Empty while it waits in a warm pool; set when the pod of a claimed one restarts.
                { valueFrom: { fieldRef: { fieldPath: `metadata.labels['${LABELS.sandbox}']` } } }
              : { value: sandbox.id }),
          },
        ],
        volumeMounts: [
          { name: 'workspace', mountPath: WORKSPACE },
          ...Object.entries(folders).map(([name, mountPath]) => ({ name, mountPath })),
          ...(installer === undefined
            ? []
            : [{ name: installer.volume, mountPath: installer.mountPath, readOnly: true }]),
        ],
      },
    ],
    volumes: [
      ...(sandbox === undefined
        ? []
        : [{ name: 'workspace', persistentVolumeClaim: { claimName: sandbox.claimName } }]),
      ...Object.keys(folders).map((name) => ({ name, emptyDir: { sizeLimit: scratch } })),
      ...(installer === undefined
        ? []
        : [{ name: installer.volume, emptyDir: { sizeLimit: `${installer.mebibytes}Mi` } }]),
    ],
  };
}

export interface WarmPoolProps {
  readonly name: string;
  readonly namespace: string;
  /** SandboxTemplate in the same namespace. */
  readonly template: string;
  /**
   * Sandboxes that wait; 0 makes every claim a cold start.
   * @default 1
   */
  readonly replicas?: number;
  /**
   * Labels of the pool.
   * @default - none
   */
  readonly labels?: Readonly<Record<string, string>>;
}

/** A claim reaches its template only through a pool. */
export function warmPoolManifest({ name, namespace, template, replicas = 1, labels }: WarmPoolProps) {
  return {
    apiVersion: AGENT_SANDBOX_API,
    kind: 'SandboxWarmPool',
    metadata: { name, namespace, ...(labels !== undefined && { labels }) },
    spec: { replicas, sandboxTemplateRef: { name: template } },
  };
}
