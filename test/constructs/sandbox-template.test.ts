import { expect, test } from '@jest/globals';
import { App, Chart } from 'cdk8s';
import { SandboxTemplate, WarmPool } from '#constructs/sandbox-template.ts';
import type { SandboxTemplateProps } from '#constructs/agent-sandbox-manifests.ts';
import { guestKeysOf } from '#protocol/guest/guest-pod.ts';

const PROPS: SandboxTemplateProps = {
  name: 'python',
  namespace: 'previews',
  image: 'registry.test/sandbox:1',
  guestKeys: 'a,b',
};

interface Template {
  readonly metadata: object;
  readonly spec: {
    readonly podTemplate: {
      readonly metadata: object;
      readonly spec: { readonly containers: readonly [{ readonly command: string[] } & object] } & object;
    };
  } & object;
}
const chart = () => new Chart(new App(), 'chart', { disableResourceNameHashes: true });
const template = (more: Partial<SandboxTemplateProps> = {}) =>
  new SandboxTemplate(chart(), 'template', { ...PROPS, ...more }).template.toJson() as Template;

test('runs the guest in isolated pods, and lets claims add nothing', () => {
  const { metadata, spec } = template();
  expect(metadata).toEqual({ name: 'python', namespace: 'previews' });
  expect(spec).toMatchObject({
    networkPolicyManagement: 'Unmanaged',
    envVarsInjectionPolicy: 'Disallowed',
    volumeClaimTemplatesPolicy: 'Disallowed',
  });
  expect(spec.podTemplate.metadata).toEqual({ labels: { 'porthole.sandbox.users.io/role': 'sandbox' } });
  const [container] = spec.podTemplate.spec.containers;
  expect(guestKeysOf(container.command)).toBe('a,b');
  expect(container).toMatchObject({
    image: 'registry.test/sandbox:1',
    resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '100m', memory: '1Gi' } },
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
  });
  expect(spec.podTemplate.spec).toMatchObject({
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 1000 },
  });
  for (const field of ['hostUsers', 'initContainers', 'imagePullSecrets']) {
    expect(spec.podTemplate.spec).not.toHaveProperty(field);
  }
});

test('accepts size, placement, labels, and the guest from another image', () => {
  const { metadata, spec } = template({
    cpu: '500m',
    memory: '512Mi',
    storage: '5Gi',
    storageClass: 'fast',
    guestImage: 'registry.test/guest:1',
    pullSecret: 'registry',
    hostUsers: false,
    nodeSelector: { pool: 'sandboxes' },
    labels: { team: 'agents' },
    podLabels: { team: 'agents', 'porthole.sandbox.users.io/role': 'other' },
    podAnnotations: { 'example.com/team': 'agents' },
  });
  expect(metadata).toMatchObject({ labels: { team: 'agents' } });
  expect(spec).toMatchObject({
    podTemplate: {
      metadata: {
        labels: { team: 'agents', 'porthole.sandbox.users.io/role': 'sandbox' },
        annotations: { 'example.com/team': 'agents' },
      },
      spec: {
        nodeSelector: { pool: 'sandboxes' },
        hostUsers: false,
        imagePullSecrets: [{ name: 'registry' }],
        initContainers: [{ image: 'registry.test/guest:1' }],
        containers: [{ resources: { limits: { cpu: '500m', memory: '512Mi' } } }],
      },
    },
    volumeClaimTemplates: [
      { spec: { resources: { requests: { storage: '5Gi' } }, storageClassName: 'fast' } },
    ],
  });
});

test.each<[string, Partial<SandboxTemplateProps>, string]>([
  ['no image', { image: ' ' }, 'SandboxTemplate.image must not be empty.'],
  ['no keys', { guestKeys: '' }, 'SandboxTemplate.guestKeys must not be empty.'],
  ['no memory', { memory: '0Gi' }, 'SandboxTemplate.memory must be a Kubernetes quantity above 0'],
  ['an unknown unit', { storage: '10 GB' }, 'got "10 GB".'],
])('rejects a template with %s', (_name, change, message) => {
  expect(() => template(change)).toThrow(message);
});

const pool = (more: object = {}) =>
  new WarmPool(chart(), 'pool', { name: 'ready', namespace: 'previews', template: 'python', ...more });

test('keeps one sandbox of a template ready, or the requested number', () => {
  expect(pool().pool.toJson()).toEqual({
    apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
    kind: 'SandboxWarmPool',
    metadata: { name: 'ready', namespace: 'previews' },
    spec: { replicas: 1, sandboxTemplateRef: { name: 'python' } },
  });
  expect(pool({ replicas: 0 }).pool.toJson()).toMatchObject({ spec: { replicas: 0 } });
});

test('rejects a pool without a template, and an incomplete sandbox', () => {
  expect(() => pool({ template: '' })).toThrow('WarmPool.template must name a SandboxTemplate.');
  expect(() => pool({ replicas: 0.5 })).toThrow(
    'WarmPool.replicas must be a whole number of 0 or more, got 0.5.',
  );
});
