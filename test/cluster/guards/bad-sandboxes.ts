import { LABELS } from '#constructs/names.ts';
import { at, type BadManifest, each, labelled, oneMore, unlabelled } from './change.ts';

const container = (more: object) => each('containers', (only) => ({ ...only, ...more }));
const security = (more: object) =>
  each('containers', (only) => ({
    ...only,
    securityContext: { ...(only['securityContext'] as object), ...more },
  }));
const volume = (source: object) => oneMore('volumes', { name: 'loot', ...source });
const probe = { httpGet: { host: '169.254.169.254', path: '/', port: 80 } };

/** Pods that the functions may not make: whoever could make them could leave the container, or read the namespace's Secrets. */
export const BAD_PODS: readonly BadManifest[] = [
  ['a Secret', volume({ secret: { secretName: 'loot' } }), 'foreign volume'],
  ['a ConfigMap', volume({ configMap: { name: 'settings' } }), 'foreign volume'],
  [
    'a token of its own',
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

  // An API server may refuse it to everybody, in words of its own.
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
  ['no profile of system calls', security({ seccompProfile: undefined }), 'open to every system call'],
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

  ['no labels', unlabelled, 'not a sandbox'],
  ['no label that closes its network', labelled(LABELS.role, undefined), 'not a sandbox'],
  ['no label of its own', labelled(LABELS.sandbox, undefined), 'not a sandbox'],
  ['the label of somebody else', labelled(LABELS.managedBy, 'helm'), 'not a sandbox'],
];

/** Volumes that the functions may not make. */
export const BAD_VOLUMES: readonly BadManifest[] = [
  ['a volume that stands already', at('spec.volumeName', 'disk-of-somebody'), 'foreign data'],
  ['a volume by its labels', at('spec.selector', { matchLabels: { app: 'database' } }), 'foreign data'],
  [
    "a copy of another's volume",
    at('spec.dataSource', { kind: 'PersistentVolumeClaim', name: 'database' }),
    'foreign data',
  ],
  ['no class, so that any volume does', at('spec.storageClassName', ''), 'foreign class'],
  ['no label of a sandbox', unlabelled, 'not a sandbox'],
];
