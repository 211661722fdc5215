import { ANNOTATIONS, LABELS } from '#constructs/names.ts';
import { at, type BadManifest, each, labelled, oneMore, unlabelled } from './change.ts';

const container = (more: object) => each('containers', (only) => ({ ...only, ...more }));
const security = (more: object) =>
  each('containers', (only) => ({
    ...only,
    securityContext: { ...(only['securityContext'] as object), ...more },
  }));
const volume = (source: object) => oneMore('volumes', { name: 'loot', ...source });
const probe = { httpGet: { host: '169.254.169.254', path: '/', port: 80 } };

/**
 * Pods that the functions must not create: with them a process could leave the container, or read
 * the namespace's Secrets.
 */
export const BAD_PODS: readonly BadManifest[] = [
  ['a Secret', volume({ secret: { secretName: 'loot' } }), 'foreign volume'],
  ['a ConfigMap', volume({ configMap: { name: 'settings' } }), 'foreign volume'],
  [
    'an API token',
    volume({ projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }),
    'foreign volume',
  ],
  ["another's volume", volume({ persistentVolumeClaim: { claimName: 'database' } }), 'foreign volume'],
  ['a path of its node', volume({ hostPath: { path: '/' } }), 'foreign volume'],
  ['a file server', volume({ nfs: { server: 'files.test', path: '/' } }), 'foreign volume'],

  ['a service account', at('spec.serviceAccountName', 'builder'), 'service account'],
  ["the service account's token", at('spec.automountServiceAccountToken', true), 'service account'],

  [
    'a Secret in its environment',
    container({ envFrom: [{ secretRef: { name: 'loot' } }] }),
    'foreign environment',
  ],
  [
    'a key of a Secret in its environment',
    container({ env: [{ name: 'LOOT', valueFrom: { secretKeyRef: { name: 'loot', key: 'a' } } }] }),
    'foreign environment',
  ],
  [
    'a key of a ConfigMap in its environment',
    container({ env: [{ name: 'LOOT', valueFrom: { configMapKeyRef: { name: 'loot', key: 'a' } } }] }),
    'foreign environment',
  ],

  // An API server may refuse it for all users, with a different message.
  ['every privilege', security({ privileged: true, allowPrivilegeEscalation: true }), 'privileged'],
  ['escalation of privilege', security({ allowPrivilegeEscalation: true }), 'privileged: a sandbox'],
  ['its escalation left open', security({ allowPrivilegeEscalation: undefined }), 'privileged: a sandbox'],
  [
    'capabilities',
    security({ capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] } }),
    'privileged: a sandbox',
  ],
  ['the capabilities of the runtime', security({ capabilities: {} }), 'privileged: a sandbox'],
  ['root', at('spec.securityContext', {}), 'privileged: a sandbox'],
  ['root in its container', security({ runAsNonRoot: false }), 'privileged: a sandbox'],
  [
    'a user of Windows',
    security({ windowsOptions: { runAsUserName: 'ContainerAdministrator' } }),
    'privileged: a sandbox',
  ],
  [
    'no profile of system calls',
    at('spec.securityContext.seccompProfile', undefined),
    'open to every system call',
  ],
  ['every system call', security({ seccompProfile: { type: 'Unconfined' } }), 'open to every system call'],

  ['the network of its node', at('spec.hostNetwork', true), 'host namespace'],
  [
    'the processes of its node',
    (pod) => at('spec.shareProcessNamespace', undefined)(at('spec.hostPID', true)(pod)),
    'host namespace',
  ],
  ['the memory of its node', at('spec.hostIPC', true), 'host namespace'],
  ['a port of its node', container({ ports: [{ containerPort: 3000, hostPort: 3000 }] }), 'host namespace'],

  ['a request that its node makes', container({ livenessProbe: probe }), 'probe'],
  ['a request at its start', container({ startupProbe: probe }), 'probe'],
  ['a request at its end', container({ lifecycle: { preStop: probe } }), 'probe'],

  ['no limits', container({ resources: {} }), 'no limits'],
  [
    'a first container without limits',
    (pod) => {
      const { containers } = pod['spec'] as { containers: object[] };
      const first = containers.map((only) => ({ ...only, name: 'first', resources: {} }));
      return at('spec.initContainers', first)(pod);
    },
    'no limits',
  ],
  ['a node of its choice', at('spec.nodeName', 'control-plane'), 'chosen node'],
  ['nodes of its choice', at('spec.nodeSelector', { role: 'database' }), 'chosen node'],
  [
    'the node of another pod',
    at('spec.affinity', {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { labelSelector: {}, topologyKey: 'kubernetes.io/hostname' },
        ],
      },
    }),
    'chosen node',
  ],
  ['nodes that are kept for others', oneMore('tolerations', { operator: 'Exists' }), 'chosen node'],
  ['a scheduler of its choice', at('spec.schedulerName', 'mine'), 'chosen node'],
  // The API server resolves it to a number first, and so accepts only existing classes.
  [
    'the priority of a part of the cluster',
    at('spec.priorityClassName', 'system-node-critical'),
    'foreign priority',
  ],
  ['a user namespace that the stack does not ask for', at('spec.hostUsers', false), 'other isolation'],
  ["others' credentials for images", at('spec.imagePullSecrets', [{ name: 'loot' }]), 'foreign credential'],
  ["its node's name service", at('spec.dnsPolicy', 'Default'), 'foreign name service'],
  ['options of SELinux', security({ seLinuxOptions: { type: 'spc_t' } }), 'foreign profile'],
  ['no profile of AppArmor', security({ appArmorProfile: { type: 'Unconfined' } }), 'foreign profile'],
  [
    'a setting of the kernel',
    (pod) => {
      const { securityContext } = pod['spec'] as { securityContext: object };
      const sysctls = [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }];
      return at('spec.securityContext', { ...securityContext, sysctls })(pod);
    },
    'foreign profile',
  ],
  [
    'more CPU than a sandbox has',
    container({ resources: { limits: { cpu: '2001m', memory: '1Gi' } } }),
    'too large',
  ],
  [
    'more memory than a sandbox has',
    container({ resources: { limits: { cpu: '1', memory: '2049Mi' } } }),
    'too large',
  ],
  [
    'a device',
    container({ resources: { limits: { cpu: '1', memory: '1Gi', 'devices.test/gpu': '1' } } }),
    'too large',
  ],
  [
    'a second container',
    (pod) => {
      const { containers } = pod['spec'] as { containers: object[] };
      return at('spec.containers', [
        ...containers,
        ...containers.map((each) => ({ ...each, name: 'second' })),
      ])(pod);
    },
    'too large',
  ],
  ['a folder without an end', volume({ emptyDir: {} }), 'too large'],
  ['host aliases', at('spec.hostAliases', [{ ip: '10.0.0.1', hostnames: ['a'] }]), 'foreign field'],
  ['another host name', at('spec.hostname', 'database'), 'foreign field'],
  [
    'a claim of a device',
    at('spec.resourceClaims', [{ name: 'gpu', resourceClaimName: 'gpu' }]),
    'foreign field',
  ],

  ["a label that others' Services select", labelled('app', 'database'), 'foreign label'],
  [
    'an annotation that others act on',
    at('metadata.annotations', { [ANNOTATIONS.sandboxId]: 'abc', 'sidecar.istio.io/inject': 'true' }),
    'foreign label or annotation',
  ],
  ['the name of another pod', at('metadata.name', 'database-0'), 'foreign name'],
  ['a name that the API server makes up', at('metadata.generateName', 'sandbox-'), 'foreign name'],

  ['no labels', unlabelled, 'not a sandbox'],
  ['no label that closes its network', labelled(LABELS.role, undefined), 'not a sandbox'],
  ['no sandbox label', labelled(LABELS.sandbox, undefined), 'not a sandbox'],
  ['the label of another manager', labelled(LABELS.managedBy, 'helm'), 'not a sandbox'],
];

/** Volumes that the functions must not create. */
export const BAD_VOLUMES: readonly BadManifest[] = [
  ['an existing volume', at('spec.volumeName', 'foreign-disk'), 'foreign data'],
  ['a volume by its labels', at('spec.selector', { matchLabels: { app: 'database' } }), 'foreign data'],
  [
    "a copy of another's volume",
    at('spec.dataSource', { kind: 'PersistentVolumeClaim', name: 'database' }),
    'foreign data',
  ],
  ['no class, so that any volume does', at('spec.storageClassName', ''), 'foreign class'],
  ['no label of a sandbox', unlabelled, 'not a sandbox'],
  [
    'the name of the volume that another workload waits for',
    at('metadata.name', 'data-database-0'),
    'foreign name',
  ],
  ['a volume with a generated name', at('metadata.generateName', 'sandbox-'), 'foreign name'],
  ['a volume with a label of others', labelled('app', 'database'), 'foreign label'],
  ['more than a sandbox has', at('spec.resources', { requests: { storage: '10241Mi' } }), 'too large'],
];

/** Claims of agent-sandbox that the functions must not create. */
export const BAD_CLAIMS: readonly BadManifest[] = [
  ['another pool', at('spec.warmPoolRef', { name: 'other' }), 'foreign pool'],
  ['more variables', at('spec.env', [{ name: 'LD_PRELOAD', value: '/workspace/a' }]), 'foreign environment'],
  [
    'more volumes',
    at('spec.volumeClaimTemplates', [
      {
        metadata: { name: 'loot' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
      },
    ]),
    'foreign volume',
  ],
  [
    'a label for its pod',
    at('spec.additionalPodMetadata', { labels: { 'evil.sandbox.users.io/role': 'gateway' } }),
    'foreign label',
  ],
  [
    'another role for its pod, which its network is closed by',
    at('spec.additionalPodMetadata', { labels: { [LABELS.role]: 'other' } }),
    'foreign label',
  ],
  [
    'an annotation for its pod',
    at('spec.additionalPodMetadata', { annotations: { 'sidecar.istio.io/inject': 'true' } }),
    'foreign label or annotation',
  ],
  ['a label of others', labelled('app', 'database'), 'foreign label'],
  ['the name of something else', at('metadata.name', 'database'), 'foreign name'],
  ['a name that the API server makes up', at('metadata.generateName', 'sandbox-'), 'foreign name'],
  ['no label of a sandbox', unlabelled, 'not a sandbox'],
];
