/**
 * Manifests of agent-sandbox, as plain objects: shared by the constructs, which need cdk8s, and the
 * infrastructure program, which does not. Values are not checked here.
 */
import { GUEST_STATE, guestInstaller, guestPod } from '../guest/protocol/guest-pod.ts';
import { LABELS, SANDBOX_POD_LABELS } from './names.ts';
import { placementFields, type PodPlacement } from './pod-placement.ts';

/** API of templates, warm pools and claims. */
export const AGENT_SANDBOX_API = 'extensions.agents.x-k8s.io/v1beta1';

/** What a sandbox of a template may use, where nothing else is asked for. */
export const TEMPLATE_SIZE = { cpu: '1', memory: '1Gi', storage: '1Gi' } as const;

/** The user that all sandboxes run as. */
const USER = 1_000;
const HOME = '/home/sandbox';
/** Size limit of `/tmp`, of the home folder and of the guest's state, each. */
const SCRATCH = '2Gi';

export interface SandboxTemplateProps extends PodPlacement {
  readonly name: string;
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
  const { storage = TEMPLATE_SIZE.storage, storageClass } = props;
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
        spec: podSpec(props),
      },
      volumeClaimTemplates: [
        {
          metadata: { name: 'workspace' },
          spec: {
            accessModes: ['ReadWriteOnce'],
            resources: { requests: { storage } },
            ...(storageClass !== undefined && { storageClassName: storageClass }),
          },
        },
      ],
    },
  };
}

function podSpec(props: SandboxTemplateProps) {
  const { image, guestKeys, guestImage, pullSecret, hostUsers = true, brokered } = props;
  const guest = guestPod(guestKeys, { HOME, WORKSPACE: '/workspace' }, brokered);
  const installer = guestInstaller();
  const scratch = { tmp: '/tmp', home: HOME, guest: GUEST_STATE };
  const volumes = Object.keys(scratch).map((name) => ({ name, emptyDir: { sizeLimit: SCRATCH } }));
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // The pause process reaps the orphaned processes of commands.
    shareProcessNamespace: true,
    terminationGracePeriodSeconds: 2,
    ...(pullSecret !== undefined && { imagePullSecrets: [{ name: pullSecret }] }),
    ...placementFields(props),
    ...(!hostUsers && { hostUsers: false }),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: USER,
      runAsGroup: USER,
      fsGroup: USER,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...(guestImage !== undefined && {
      initContainers: [
        {
          ...commonContainer(props),
          name: installer.name,
          image: guestImage,
          command: installer.command,
          volumeMounts: [{ name: installer.volume, mountPath: installer.target }],
        },
      ],
    }),
    containers: [
      {
        ...commonContainer(props),
        name: 'sandbox',
        image,
        command: guest.command,
        env: [
          { name: 'HOME', value: HOME },
          { name: 'WORKSPACE', value: '/workspace' },
          ...guest.env,
          // Empty while it waits in a warm pool; set when the pod of a claimed one restarts.
          {
            name: 'SANDBOX_ID',
            valueFrom: { fieldRef: { fieldPath: `metadata.labels['${LABELS.sandbox}']` } },
          },
        ],
        volumeMounts: [
          { name: 'workspace', mountPath: '/workspace' },
          ...Object.entries(scratch).map(([name, mountPath]) => ({ name, mountPath })),
          ...(guestImage === undefined
            ? []
            : [{ name: installer.volume, mountPath: installer.mountPath, readOnly: true }]),
        ],
      },
    ],
    volumes:
      guestImage === undefined
        ? volumes
        : [...volumes, { name: installer.volume, emptyDir: { sizeLimit: `${installer.mebibytes}Mi` } }],
  };
}

function commonContainer({ cpu = TEMPLATE_SIZE.cpu, memory = TEMPLATE_SIZE.memory }: SandboxTemplateProps) {
  return {
    // A runtime cannot start in a folder that its user may not enter.
    workingDir: '/',
    resources: { requests: { cpu: '100m', memory }, limits: { cpu, memory } },
    securityContext: {
      runAsNonRoot: true,
      privileged: false,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
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
