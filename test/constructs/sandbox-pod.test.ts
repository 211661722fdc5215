import { describe, expect, test } from '@jest/globals';
import { guestKeysOf } from '#protocol/guest/guest-pod.ts';
import { sandboxPodManifests, type SandboxPodProps } from '#constructs/sandbox-pod.ts';

const PROPS: SandboxPodProps = {
  namespace: 'previews',
  sandboxId: 'box',
  image: 'registry.test/sandbox:1',
  guestKeys: 'a,b',
};
const { pod, volumeClaim } = sandboxPodManifests(PROPS) as {
  pod: {
    metadata: { labels: object };
    spec: { containers: [Record<string, unknown>] } & Record<string, unknown>;
  };
  volumeClaim: object;
};
const [container] = pod.spec.containers;

describe('the pod of a sandbox', () => {
  test('runs unprivileged, and cannot escalate privileges', () => {
    expect(pod.spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1000,
        runAsGroup: 1000,
        fsGroup: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      },
    });
    expect(container['securityContext']).toEqual({
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
    });
  });

  test('has no service account token, Service environment or host namespace of its cluster', () => {
    expect(pod.spec).toMatchObject({ enableServiceLinks: false });
    for (const field of ['serviceAccountName', 'hostNetwork', 'hostPID', 'hostIPC']) {
      expect(pod.spec).not.toHaveProperty(field);
    }
  });

  test('has limits, and requests all of its memory', () => {
    expect(container['resources']).toEqual({
      limits: { cpu: '2000m', memory: '2048Mi' },
      requests: { cpu: '100m', memory: '2048Mi' },
    });
  });

  test('mounts only workspace, home, /tmp and guest state writable, and persists only the workspace', () => {
    expect(container['volumeMounts']).toEqual([
      { name: 'workspace', mountPath: '/workspace' },
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'home', mountPath: '/home/sandbox' },
      { name: 'guest', mountPath: '/run/porthole-guest' },
    ]);
    expect(pod.spec['volumes']).toEqual([
      { name: 'workspace', persistentVolumeClaim: { claimName: 'sandbox-box' } },
      { name: 'tmp', emptyDir: { sizeLimit: '2048Mi' } },
      { name: 'home', emptyDir: { sizeLimit: '2048Mi' } },
      { name: 'guest', emptyDir: { sizeLimit: '2048Mi' } },
    ]);
    expect(volumeClaim).toMatchObject({
      metadata: { name: 'sandbox-box' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10240Mi' } } },
    });
  });

  test('runs the guest with its UID, an output volume, and no variables of an image', () => {
    const command = container['command'] as string[];
    expect(command.slice(0, -1)).toEqual(expect.arrayContaining(['/porthole/node', '/porthole/guest.js']));
    expect(guestKeysOf(command)).toBe('a,b');
    expect(JSON.parse(command.at(-1) ?? '')).toMatchObject({
      env: { HOME: '/home/sandbox', WORKSPACE: '/workspace', SANDBOX_ID: 'box' },
      listen: { port: 2790, audience: '$(PORTHOLE_POD_UID)' },
    });
    expect(container['env']).toEqual(
      expect.arrayContaining([
        { name: 'PORTHOLE_POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
        { name: 'NODE_OPTIONS', value: '' },
        { name: 'LD_PRELOAD', value: '' },
      ]),
    );
  });

  test('copies the guest from another image into a volume that is read-only to the sandbox', () => {
    const made = sandboxPodManifests({ ...PROPS, guestImage: 'registry.test/guest:1' }) as {
      pod: typeof pod;
    };
    const [installer] = made.pod.spec['initContainers'] as Record<string, unknown>[];
    const { resources, securityContext } = container;
    expect(installer).toMatchObject({ image: 'registry.test/guest:1', resources, securityContext });
    expect(installer?.['volumeMounts']).toEqual([{ name: 'porthole', mountPath: '/guest' }]);
    expect(made.pod.spec.containers[0]['volumeMounts']).toContainEqual({
      name: 'porthole',
      mountPath: '/porthole',
      readOnly: true,
    });
    expect(pod.spec).not.toHaveProperty('initContainers');
  });

  test('has the labels that previews and network policies select', () => {
    expect(pod.metadata.labels).toMatchObject({
      'app.kubernetes.io/managed-by': 'porthole',
      'app.kubernetes.io/component': 'sandbox',
      'porthole.sandbox.users.io/role': 'sandbox',
      'porthole.sandbox.users.io/sandbox': 'box',
    });
  });

  test('has the internet label only if network access is enabled', () => {
    const NETWORK = 'porthole.sandbox.users.io/network';
    expect(pod.metadata.labels).not.toHaveProperty([NETWORK]);
    const open = sandboxPodManifests({ ...PROPS, network: true });
    expect(open.pod).toMatchObject({
      metadata: {
        labels: { [NETWORK]: 'internet', 'porthole.sandbox.users.io/role': 'sandbox' },
      },
    });
  });

  test('requests no more CPU than its limit', () => {
    expect(sandboxPodManifests({ ...PROPS, cpuLimitMillis: 50 }).pod).toMatchObject({
      spec: { containers: [{ resources: { limits: { cpu: '50m' }, requests: { cpu: '50m' } } }] },
    });
  });

  test.each([1, 500, 1_536])('requests a workspace of %i MiB', (workspaceMebibytes) => {
    const other = sandboxPodManifests({ ...PROPS, workspaceMebibytes });
    expect(other.volumeClaim).toMatchObject({
      spec: { resources: { requests: { storage: `${workspaceMebibytes}Mi` } } },
    });
  });

  test('uses the named pull secret, or the defaults of the namespace', () => {
    const other = sandboxPodManifests({ ...PROPS, pullSecret: 'registry' });
    expect(other.pod).toMatchObject({ spec: { imagePullSecrets: [{ name: 'registry' }] } });
    expect(sandboxPodManifests(PROPS).pod).not.toHaveProperty('spec.imagePullSecrets');
  });

  test('sets a RuntimeClass and a user namespace on request', () => {
    const other = sandboxPodManifests({ ...PROPS, runtimeClassName: 'gvisor', hostUsers: false });
    expect(other.pod).toMatchObject({ spec: { runtimeClassName: 'gvisor', hostUsers: false } });
    const { pod } = sandboxPodManifests(PROPS);
    for (const field of ['runtimeClassName', 'hostUsers']) expect(pod).not.toHaveProperty(`spec.${field}`);
  });

  test('has the placement, labels and annotations of its props, and omits empty ones', () => {
    const placement = {
      nodeSelector: { pool: 'sandboxes' },
      tolerations: [{ key: 'sandboxes', operator: 'Exists', effect: 'NoSchedule' }],
      affinity: { podAntiAffinity: {} },
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }],
      priorityClassName: 'low',
    };
    const reserved = { 'porthole.sandbox.users.io/role': 'other' };
    const placed = sandboxPodManifests({
      ...PROPS,
      ...placement,
      labels: { team: 'agents', ...reserved },
      annotations: { 'example.com/team': 'agents' },
    });
    expect(placed.pod).toMatchObject({
      metadata: {
        labels: { team: 'agents', 'porthole.sandbox.users.io/role': 'sandbox' },
        annotations: { 'example.com/team': 'agents' },
      },
      spec: placement,
    });
    const empty = { nodeSelector: {}, tolerations: [], affinity: {}, labels: {}, annotations: {} };
    expect(sandboxPodManifests({ ...PROPS, ...empty })).toEqual(sandboxPodManifests(PROPS));
  });

  test('accepts a storage class and a user', () => {
    const other = sandboxPodManifests({ ...PROPS, storageClass: 'fast', user: 2000 });
    expect(other).toMatchObject({
      volumeClaim: { spec: { storageClassName: 'fast' } },
      pod: { spec: { securityContext: { runAsUser: 2000 } } },
    });
  });
});

test.each<[string, Partial<SandboxPodProps>, string]>([
  ['no image', { image: ' ' }, 'SandboxPod.image must name a container image, got nothing.'],
  ['root', { user: 0 }, 'SandboxPod.user must be a whole number above 0, got 0.'],
  ['no memory', { memoryMebibytes: 0 }, 'SandboxPod.memoryMebibytes must be a whole number above 0, got 0.'],
  [
    'half a core too little',
    { cpuLimitMillis: 0.5 },
    'SandboxPod.cpuLimitMillis must be a whole number above 0',
  ],
  [
    'more CPU than it may use',
    { cpuRequestMillis: 500, cpuLimitMillis: 200 },
    'SandboxPod.cpuRequestMillis (500) must not be above cpuLimitMillis (200).',
  ],
])('rejects an invalid pod: %s', (_name, change, message) => {
  expect(() => sandboxPodManifests({ ...PROPS, ...change })).toThrow(message);
});
