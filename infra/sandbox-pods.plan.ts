import { hasLabels, hasOnly, isNamed, literal, quote } from '../constructs/admission-expressions.ts';
import {
  ANNOTATIONS,
  LABELS,
  SANDBOX_LABELS,
  SANDBOX_NAME_PREFIX,
  SANDBOX_POD_LABELS,
} from '../constructs/names.ts';
import { placementFields, type Toleration } from '../constructs/pod-placement.ts';
import { SANDBOX_SIZE } from '../protocol/settings/sandbox-size.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { functionsPolicy } from './expressions.ts';

/** Name of a sandbox's pod, volume and claim. */
export const SANDBOX_NAME = `^${SANDBOX_NAME_PREFIX}[a-z0-9-]+$`;

/**
 * Functions of the version before set `addr`; the API server sets `limit-ranger`, if a LimitRange
 * adds defaults.
 */
const LABEL_KEYS = [
  ...Object.keys({ ...SANDBOX_LABELS, ...SANDBOX_POD_LABELS }),
  LABELS.sandbox,
  LABELS.network,
  'cdk8s.io/metadata.addr',
];
const ANNOTATION_KEYS = [ANNOTATIONS.sandboxId, 'kubernetes.io/limit-ranger'];

/**
 * The fields of a sandbox's pod, and those that the API server adds. Dangerous ones are checked
 * below.
 */
const FIELDS = [
  'automountServiceAccountToken',
  'containers',
  'dnsPolicy',
  'enableServiceLinks',
  'hostIPC',
  'hostNetwork',
  'hostPID',
  'hostUsers',
  'imagePullSecrets',
  'preemptionPolicy',
  'priority',
  'priorityClassName',
  'restartPolicy',
  'runtimeClassName',
  'schedulerName',
  'securityContext',
  'serviceAccount',
  'serviceAccountName',
  'setHostnameAsFQDN',
  'shareProcessNamespace',
  'terminationGracePeriodSeconds',
  'tolerations',
  'volumes',
];

/** Fields that the API server copies from the RuntimeClass; it rejects another overhead itself. */
const FROM_RUNTIME_CLASS = ['nodeSelector', 'overhead'];

/** The policy reads the RuntimeClass itself, because the functions must not choose its values. */
const RUNTIME_CLASS = { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass' };

/** Whether a limit, if set, is at most this. */
function isAtMost(resource: string, most: string): string {
  const limits = 'c.?resources.?limits.orValue({})';
  return `(!(${quote(resource)} in ${limits}) || quantity(c.resources.limits[${quote(resource)}]).compareTo(quantity(${quote(most)})) <= 0)`;
}

/**
 * Admission policy for the functions' pods. Without it, a client that may create pods may read
 * every Secret of the namespace, use any of its service accounts, or escape the container.
 */
export function sandboxPodsPlan({ namespaces, sandboxes }: StackConfig) {
  const { pullSecret, priorityClassName, runtimeClassName, hostUsers, guestImage, pod } = sandboxes;
  const { cpuLimitMillis, memoryMebibytes, scratchMebibytes } = SANDBOX_SIZE;
  const rule = { apiGroups: [''], resources: ['pods'], operations: ['CREATE'] };
  const { metadata, spec } = functionsPolicy(namespaces, 'sandbox-pods', rule, [
    {
      expression: `${hasLabels('object', { ...SANDBOX_LABELS, ...SANDBOX_POD_LABELS })} && object.?metadata.?labels[?${quote(LABELS.sandbox)}].orValue('') != ''`,
      message:
        'not a sandbox: the functions make no other pod, and the network policies know sandboxes by their labels',
    },
    {
      expression: isNamed(SANDBOX_NAME),
      message: "foreign name: a sandbox's pod is named sandbox-{id}",
    },
    {
      expression: `object.spec.?automountServiceAccountToken.orValue(true) == false && object.spec.?serviceAccountName.orValue('default') == 'default'`,
      message: 'service account: a sandbox has none',
    },
    {
      expression: ['hostNetwork', 'hostPID', 'hostIPC']
        .map((field) => `object.spec.?${field}.orValue(false) == false`)
        .concat('variables.containers.all(c, c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0))')
        .join(' && '),
      message: 'host namespace: a sandbox shares none with its node, and no port of it',
    },
    {
      expression: `object.spec.?volumes.orValue([]).all(v, has(v.emptyDir) || (has(v.persistentVolumeClaim) && v.persistentVolumeClaim.claimName == object.metadata.name))`,
      message:
        'foreign volume: a sandbox may mount only the volume with its name, and no Secret, ConfigMap or path of its node',
    },
    {
      expression: `variables.containers.all(c, size(c.?envFrom.orValue([])) == 0 && c.?env.orValue([]).all(e, !has(e.valueFrom) || has(e.valueFrom.fieldRef)))`,
      message: 'foreign environment: a sandbox takes none from Secrets or ConfigMaps',
    },
    {
      expression: `variables.containers.all(c, ${[
        'c.?securityContext.?privileged.orValue(false) == false',
        'c.?securityContext.?allowPrivilegeEscalation.orValue(true) == false',
        `'ALL' in c.?securityContext.?capabilities.?drop.orValue([])`,
        'size(c.?securityContext.?capabilities.?add.orValue([])) == 0',
        'c.?securityContext.?runAsNonRoot.orValue(true)',
        `c.?securityContext.?procMount.orValue('Default') == 'Default'`,
        `!has(c.securityContext.windowsOptions)`,
      ].join(
        ' && ',
      )}) && object.spec.?securityContext.?runAsNonRoot.orValue(false) && !has(object.spec.securityContext.windowsOptions)`,
      message: 'privileged: a sandbox runs as an ordinary user without capabilities',
    },
    {
      expression: `variables.containers.all(c, c.?securityContext.?seccompProfile.?type.orValue(object.spec.?securityContext.?seccompProfile.?type.orValue('')) == 'RuntimeDefault')`,
      message: "open to every system call: a sandbox runs under the runtime's seccomp profile",
    },
    {
      expression: `variables.containers.all(c, ${['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle'].map((field) => `!has(c.${field})`).join(' && ')})`,
      message: 'probe: its node asks nothing of a sandbox, nor anybody else on its behalf',
    },
    {
      expression: `variables.containers.all(c, 'cpu' in c.?resources.?limits.orValue({}) && 'memory' in c.?resources.?limits.orValue({}))`,
      message: 'no limits: a sandbox has limits of CPU and memory',
    },
    {
      expression: [
        '!has(object.spec.nodeName)',
        isAsConfigured('affinity', pod.affinity),
        isAsConfigured('topologySpreadConstraints', pod.topologySpreadConstraints),
        isOnNodes(pod.nodeSelector, runtimeClassName !== undefined),
        `object.spec.?schedulerName.orValue('default-scheduler') == 'default-scheduler'`,
        toleratesOnly(pod.tolerations, runtimeClassName !== undefined),
      ].join(' && '),
      message: 'chosen node: the scheduler places sandboxes, as sandboxes.pod says',
    },
    {
      expression: `object.spec.?runtimeClassName.orValue('') == ${quote(runtimeClassName ?? '')} && object.spec.?hostUsers.orValue(true) == ${hostUsers}`,
      message: `other isolation: a sandbox has ${runtimeClassName === undefined ? 'no RuntimeClass' : `the RuntimeClass ${runtimeClassName}`} and hostUsers: ${hostUsers}`,
    },
    {
      expression: `object.spec.?priorityClassName.orValue('') == ${quote(priorityClassName ?? '')}`,
      message: `foreign priority: a sandbox has ${priorityClassName === undefined ? 'no PriorityClass' : `the PriorityClass ${priorityClassName}`}`,
    },
    {
      expression: `object.spec.?imagePullSecrets.orValue([]).all(s, s.?name.orValue('') in [${(pullSecret === undefined ? [] : [pullSecret]).map(quote).join(', ')}])`,
      message: 'foreign credential: images of sandboxes are pulled with sandboxes.pullSecret, if with any',
    },
    {
      expression: `object.spec.?dnsPolicy.orValue('ClusterFirst') == 'ClusterFirst'`,
      message: "foreign name service: a sandbox asks its node's for nothing",
    },
    {
      expression: ['c', 'object.spec']
        .map((holder) =>
          ['seLinuxOptions', 'sysctls']
            .map((field) => `!${holder}.?securityContext.?${field}.hasValue()`)
            .concat(
              `${holder}.?securityContext.?appArmorProfile.?type.orValue('RuntimeDefault') == 'RuntimeDefault'`,
            )
            .join(' && '),
        )
        .map((each, at) => (at === 0 ? `variables.containers.all(c, ${each})` : each))
        .join(' && '),
      message: "foreign profile: a sandbox runs under the runtime's, and sets nothing of the kernel",
    },
    {
      expression: [
        'size(object.spec.containers) == 1',
        `variables.containers.all(c, ${[
          isAtMost('cpu', `${cpuLimitMillis}m`),
          isAtMost('memory', `${memoryMebibytes}Mi`),
          hasOnly('c.?resources.?limits', ['cpu', 'memory', 'ephemeral-storage']),
        ].join(' && ')})`,
        `object.spec.?volumes.orValue([]).all(v, !has(v.emptyDir) || (has(v.emptyDir.sizeLimit) && quantity(v.emptyDir.sizeLimit).compareTo(quantity('${scratchMebibytes}Mi')) <= 0))`,
      ].join(' && '),
      message: `too large: a sandbox is one container of ${cpuLimitMillis}m CPU and ${memoryMebibytes} MiB at most, without devices, and with ${scratchMebibytes} MiB a folder`,
    },
    {
      expression: [
        hasExactly('labels', LABEL_KEYS, pod.labels),
        hasExactly('annotations', ANNOTATION_KEYS, pod.annotations),
      ].join(' && '),
      message: "foreign label or annotation: a sandbox's pod has Porthole's, and those of sandboxes.pod",
    },
    ...(guestImage === undefined
      ? []
      : [
          {
            expression: `size(object.spec.?initContainers.orValue([])) <= 1 && object.spec.?initContainers.orValue([]).all(c, c.image == ${quote(guestImage)} && !has(c.restartPolicy))`,
            message: 'foreign init container: one of the image sandboxes.guestImage, if any',
          },
        ]),
    {
      expression: `dyn(object.spec).all(k, k in [${[...FIELDS, ...Object.keys(placementFields(pod)), ...(guestImage === undefined ? [] : ['initContainers']), ...(runtimeClassName === undefined ? [] : FROM_RUNTIME_CLASS)].map(quote).join(', ')}])`,
      message: "foreign field: a sandbox's pod has no more than Porthole gives it",
    },
  ]);
  return {
    metadata,
    spec: {
      ...spec,
      ...(runtimeClassName !== undefined && { paramKind: RUNTIME_CLASS }),
      variables: [
        {
          name: 'containers',
          expression: 'object.spec.containers + object.spec.?initContainers.orValue([])',
        },
      ],
    },
  };
}

/** Tolerations that the API server adds to every pod, so that it is evicted from a lost node. */
const TOLERATIONS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];

/** Whether metadata has Porthole's keys and the stack's entries, and nothing else. */
function hasExactly(
  field: 'labels' | 'annotations',
  keys: readonly string[],
  entries: Readonly<Record<string, string>>,
): string {
  return [
    hasOnly(`object.metadata.?${field}`, [...keys, ...Object.keys(entries)]),
    ...Object.entries(entries).map(
      ([key, value]) => `object.metadata.?${field}[?${quote(key)}].orValue('') == ${quote(value)}`,
    ),
  ].join(' && ');
}

/** Whether a field of the PodSpec equals the stack's value, or is absent if the stack has none. */
function isAsConfigured(field: string, value: object | undefined): string {
  if (value === undefined || Object.keys(value).length === 0) return `!has(object.spec.${field})`;
  return `has(object.spec.${field}) && dyn(object.spec.${field}) == dyn(${literal(value)})`;
}

/** Whether the pod selects the stack's nodes, and besides those of its RuntimeClass. */
function isOnNodes(nodeSelector: Readonly<Record<string, string>>, hasRuntimeClass: boolean): string {
  if (!hasRuntimeClass) return isAsConfigured('nodeSelector', nodeSelector);
  const [now, ours, added] = [
    'dyn(object.spec.?nodeSelector.orValue({}))',
    `dyn(${literal(nodeSelector)})`,
    'dyn(params.?scheduling.?nodeSelector.orValue({}))',
  ];
  return [
    `${ours}.all(k, k in ${now} && ${now}[k] == ${ours}[k])`,
    `${now}.all(k, (k in ${ours} && ${now}[k] == ${ours}[k]) || (k in ${added} && ${now}[k] == ${added}[k]))`,
  ].join(' && ');
}

/** Whether every toleration is the stack's, the API server's, or of the RuntimeClass. */
function toleratesOnly(tolerations: readonly Toleration[], hasRuntimeClass: boolean): string {
  const allowed = [
    `t.?key.orValue('') in [${TOLERATIONS.map(quote).join(', ')}]`,
    ...tolerations.map((each) => `dyn(t) == dyn(${literal(each)})`),
    ...(hasRuntimeClass ? ['params.?scheduling.?tolerations.orValue([]).exists(p, dyn(p) == dyn(t))'] : []),
  ];
  return `object.spec.?tolerations.orValue([]).all(t, ${allowed.join(' || ')})`;
}
