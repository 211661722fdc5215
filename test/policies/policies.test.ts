import { GUEST_PREVIEW_PORT } from '#protocol/guest/previews-protocol.ts';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Properties, UNKNOWN, withValueAt } from '../pulumi/wire-values.ts';
import { type Observed, type PolicyPack, startPolicyPack } from './engine/policy-pack.ts';

const FOLDER = join(import.meta.dirname, '../../policies');
const DIGEST = `sha256:${'0'.repeat(64)}`;

const observed = (type: string, inputs: object): Observed => ({
  urn: `urn:pulumi:test::porthole::kubernetes:${type}::it`,
  type: `kubernetes:${type}`,
  name: 'it',
  inputs: { ...inputs },
});
const changed = (resource: Observed, path: string, value: unknown): Observed => ({
  ...resource,
  inputs: withValueAt(resource.inputs, path, value),
});

const container = {
  name: 'sandbox',
  image: `registry.example.com/sandbox@${DIGEST}`,
  resources: { limits: { cpu: '1', memory: '1Gi' } },
  securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
};
const podSpec = {
  automountServiceAccountToken: false,
  runtimeClassName: 'gvisor',
  hostUsers: false,
  nodeSelector: { pool: 'sandboxes' },
  tolerations: [{ key: 'sandboxes' }],
  securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [container],
  volumes: [{ name: 'tmp', emptyDir: {} }],
};
const template = observed('extensions.agents.x-k8s.io/v1beta1:SandboxTemplate', {
  spec: { networkPolicyManagement: 'Unmanaged', podTemplate: { spec: podSpec } },
});
const deployment = observed('apps/v1:Deployment', { spec: { template: { spec: podSpec } } });
const replicationController = observed('core/v1:ReplicationController', {
  spec: { template: { spec: podSpec } },
});
const job = observed('batch/v1:CronJob', {
  spec: { jobTemplate: { spec: { template: { spec: podSpec } } } },
});
const pod = observed('core/v1:Pod', { spec: podSpec });
const pool = observed('extensions.agents.x-k8s.io/v1beta1:SandboxWarmPool', { spec: { replicas: 50 } });
const gateway = observed('gateway.networking.k8s.io/v1:Gateway', {
  spec: {
    listeners: [
      {
        name: 'previews',
        hostname: '*.preview.test',
        protocol: 'HTTPS',
        tls: { mode: 'Terminate', certificateRefs: [{ name: 'tls' }] },
      },
    ],
  },
});
const [listenerSet, xListenerSet] = [
  'gateway.networking.k8s.io/v1:ListenerSet',
  'gateway.networking.x-k8s.io/v1alpha1:XListenerSet',
].map((type) => observed(type, gateway.inputs)) as [Observed, Observed];
const allowing = (group: string, resource: string, verb: string) =>
  observed('rbac.authorization.k8s.io/v1:Role', {
    rules: [{ apiGroups: [group], resources: [resource], verbs: [verb] }],
  });
const role = allowing('', 'pods', 'get');
const clusterRole = (inputs: object) => observed('rbac.authorization.k8s.io/v1:ClusterRole', inputs);
const binding = (kind: 'RoleBinding' | 'ClusterRoleBinding', name: string, subject: object) =>
  observed(`rbac.authorization.k8s.io/v1:${kind}`, {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [subject],
  });
const account = { kind: 'ServiceAccount', name: 'porthole', namespace: 'porthole' };
/** The same resource as a server-side apply patch. */
const patchOf = (resource: Observed) => ({ ...resource, type: `${resource.type}Patch` });
const settings = observed('core/v1:ConfigMap', {
  data: {
    PORTHOLE_SANDBOX_IMAGE: `registry.example.com/sandbox@${DIGEST}`,
    PORTHOLE_IMAGES: JSON.stringify({ node: { reference: `registry.example.com/node@${DIGEST}` } }),
    PORTHOLE_GUEST_IMAGE: `registry.example.com/guest@${DIGEST}`,
    PORTHOLE_PROVIDER: 'kubernetes',
    PORTHOLE_SANDBOX_RUNTIME_CLASS: 'gvisor',
    PORTHOLE_SANDBOX_HOST_USERS: 'false',
    PORTHOLE_SANDBOX_POD: '{"nodeSelector":{"pool":"sandboxes"}}',
    Sandbox__Preview__ZoneSuffix: 'preview.test',
    Sandbox__Preview__AllowedPortMin: '3000',
    Sandbox__Preview__AllowedPortMax: '9000',
  },
});
const networkPolicy = observed('networking.k8s.io/v1:NetworkPolicy', {
  spec: {
    ingress: [{ from: [{ podSelector: {} }], ports: [{ protocol: 'TCP', port: 3000, endPort: 9000 }] }],
  },
});
const route = observed('gateway.networking.k8s.io/v1:HTTPRoute', { spec: { hostnames: ['*.preview.test'] } });
const containers = (more: Properties) => [{ ...container, ...more }];
const ports = (...given: object[]) => [{ from: [{ podSelector: {} }], ports: given }];
const from = (peer: object) => [{ from: [peer], ports: [{ protocol: 'TCP', port: 3000, endPort: 9000 }] }];
const listeners = (...given: object[]) => given;

let pack: PolicyPack;
beforeAll(async () => {
  pack = await startPolicyPack([], {
    'sandbox-isolation': { runtimeClass: true, userNamespace: true },
    'sandbox-placement': { nodeSelector: { pool: 'sandboxes' } },
  });
});
afterAll(() => pack.close());

test('serves one policy per file from the pack, each named after its file', () => {
  const sources = readdirSync(FOLDER)
    .filter((file) => file.endsWith('.ts'))
    .filter((file) => readFileSync(join(FOLDER, file), 'utf8').includes('remediationSteps'))
    .map((file) => file.replace(/\.ts$/, ''));
  expect([...pack.policies].toSorted()).toEqual(sources.toSorted());
});

test('imports nothing of ours into the pack', () => {
  const imports = readdirSync(FOLDER)
    .filter((file) => file.endsWith('.ts') || file.endsWith('.js'))
    .flatMap((file) => [...readFileSync(join(FOLDER, file), 'utf8').matchAll(/(?:from|import) '([^']+)'/g)])
    .map((match) => match[1] as string);
  expect(
    imports.filter(
      (from) => !from.startsWith('./') && !['@pulumi/policy', 'node:fs', 'node:net'].includes(from),
    ),
  ).toEqual([]);
});

describe('a resource', () => {
  test.each([
    template,
    deployment,
    patchOf(deployment),
    replicationController,
    job,
    pod,
    pool,
    gateway,
    listenerSet,
    xListenerSet,
    role,
    clusterRole({ metadata: { name: 'porthole-zone:preview.test' } }),
    binding('RoleBinding', 'porthole', account),
    settings,
  ])('passes when it complies: $type', async (resource) => {
    expect(await pack.evaluate(resource)).toEqual([]);
  });

  const inTemplate = 'spec.podTemplate.spec';
  test.each<[policy: string, what: string, resource: Observed]>([
    ['bounded-warm-pools', 'a pool past the maximum', changed(pool, 'spec.replicas', 51)],
    ['bounded-warm-pools', 'a pool of unsaid size', changed(pool, 'spec', {})],
    ['no-host-access', "the node's network", changed(deployment, 'spec.template.spec.hostNetwork', true)],
    ['no-host-access', "the node's processes", changed(pod, 'spec.hostPID', true)],
    ['no-host-access', "the node's memory", changed(template, `${inTemplate}.hostIPC`, true)],
    [
      'no-host-access',
      'a path of the node',
      changed(pod, 'spec.volumes', [{ name: 'root', hostPath: { path: '/' } }]),
    ],
    ...[
      ...['Deployment', 'DaemonSet', 'StatefulSet', 'ReplicaSet'].map((kind) => `apps/v1:${kind}Patch`),
      'core/v1:ReplicationController',
      'core/v1:ReplicationControllerPatch',
      'batch/v1:JobPatch',
    ].map((type): [string, string, Observed] => [
      'no-host-access',
      `the node's network, in ${type}`,
      observed(type, { spec: { template: { spec: { ...podSpec, hostNetwork: true } } } }),
    ]),
    ...[patchOf(pod), patchOf(changed(job, 'spec.jobTemplate.spec.template.spec.hostPID', true))].map(
      (patch): [string, string, Observed] => [
        'no-host-access',
        `the node, in ${patch.type}`,
        patch.type.includes('Pod') ? changed(patch, 'spec.hostNetwork', true) : patch,
      ],
    ),
    [
      'no-host-access',
      'a port of the node',
      changed(pod, 'spec.containers', containers({ ports: [{ containerPort: 80, hostPort: 80 }] })),
    ],
    ['no-wildcard-rbac', 'every verb', allowing('', 'pods', '*')],
    ['no-wildcard-rbac', 'every resource', allowing('', '*', 'get')],
    ['no-wildcard-rbac', 'every subresource', allowing('', '*/scale', 'get')],
    ['no-wildcard-rbac', 'every group', allowing('*', 'pods', 'get')],
    ['no-wildcard-rbac', 'every group, in a patch', patchOf(allowing('*', 'pods', 'get'))],
    ['no-wildcard-rbac', 'Secrets', allowing('', 'secrets', 'get')],
    ['no-wildcard-rbac', 'commands in pods', allowing('', 'pods/exec', 'create')],
    ...['escalate', 'bind', 'impersonate'].map((verb): [string, string, Observed] => [
      'no-wildcard-rbac',
      `the verb ${verb}`,
      allowing('rbac.authorization.k8s.io', 'clusterroles', verb),
    ]),
    ['no-wildcard-rbac', 'every URL', clusterRole({ rules: [{ nonResourceURLs: ['*'], verbs: ['get'] }] })],
    ...[{}, { matchExpressions: [{ key: 'none', operator: 'DoesNotExist' }] }].map(
      (selector): [string, string, Observed] => [
        'no-wildcard-rbac',
        `the rules of other roles: ${JSON.stringify(selector)}`,
        clusterRole({ aggregationRule: { clusterRoleSelectors: [selector] } }),
      ],
    ),
    ...(['RoleBinding', 'ClusterRoleBinding'] as const).flatMap((kind): [string, string, Observed][] => [
      ['no-wildcard-rbac', `a ${kind} of cluster-admin`, binding(kind, 'cluster-admin', account)],
      ...[
        { kind: 'Group', name: 'system:authenticated' },
        { kind: 'Group', name: 'system:unauthenticated' },
        { kind: 'Group', name: 'system:serviceaccounts' },
        { kind: 'User', name: 'system:anonymous' },
      ].flatMap((subject) =>
        ['cluster-admin', 'admin'].map((name): [string, string, Observed] => [
          'no-wildcard-rbac',
          `a ${kind} of ${name} to ${subject.name}`,
          binding(kind, name, subject),
        ]),
      ),
    ]),
    [
      'no-wildcard-rbac',
      'a patch that binds cluster-admin',
      patchOf(binding('ClusterRoleBinding', 'cluster-admin', account)),
    ],
    [
      'pinned-images',
      'an image by tag',
      changed(pod, 'spec.containers', containers({ image: 'sandbox:latest' })),
    ],
    [
      'pinned-images',
      'an image by tag for the start',
      changed(pod, 'spec.initContainers', containers({ image: 'setup:1' })),
    ],
    [
      'pinned-images',
      'an image by tag for sandboxes that ask for none',
      changed(settings, 'data.PORTHOLE_SANDBOX_IMAGE', 'sandbox:latest'),
    ],
    [
      'pinned-images',
      'an image of the catalogue by tag',
      changed(settings, 'data.PORTHOLE_IMAGES', '{"node":{"reference":"node:24"}}'),
    ],
    [
      'pinned-images',
      "the guest's image by tag",
      changed(settings, 'data.PORTHOLE_GUEST_IMAGE', 'guest:latest'),
    ],
    [
      'pinned-images',
      "the guest's image by tag, in a patch",
      patchOf(changed(settings, 'data.PORTHOLE_GUEST_IMAGE', 'guest:latest')),
    ],
    ...[
      ['PORTHOLE_SANDBOX_IMAGE', 'sandbox:latest'],
      ['PORTHOLE_IMAGES', '{"node":{"reference":"node:24"}}'],
      ['PORTHOLE_GUEST_IMAGE', 'guest:latest'],
    ].map(([name, value]): [string, string, Observed] => [
      'pinned-images',
      `an image by tag in the variable ${name}`,
      changed(deployment, 'spec.template.spec.containers', containers({ env: [{ name, value }] })),
    ]),
    [
      'sandbox-isolation',
      'a template without RuntimeClass',
      changed(template, `${inTemplate}.runtimeClassName`, undefined),
    ],
    [
      'sandbox-isolation',
      "a template in the node's user namespace",
      changed(template, `${inTemplate}.hostUsers`, undefined),
    ],
    [
      'sandbox-isolation',
      'sandboxes that the functions make without RuntimeClass',
      changed(settings, 'data.PORTHOLE_SANDBOX_RUNTIME_CLASS', undefined),
    ],
    [
      'sandbox-isolation',
      "sandboxes that the functions make in the node's user namespace",
      changed(settings, 'data.PORTHOLE_SANDBOX_HOST_USERS', undefined),
    ],
    [
      'sandbox-limits',
      'no limit of memory',
      changed(template, `${inTemplate}.containers`, containers({ resources: { limits: { cpu: '1' } } })),
    ],
    ...['0', '0m', '0.0', '0Mi'].map((cpu): [string, string, Observed] => [
      'sandbox-limits',
      `the limit ${cpu}, which is none`,
      changed(
        template,
        `${inTemplate}.containers`,
        containers({ resources: { limits: { cpu, memory: '1Gi' } } }),
      ),
    ]),
    [
      'sandbox-limits',
      'a limit of memory of 0, in a patch',
      patchOf(
        changed(
          template,
          `${inTemplate}.containers`,
          containers({ resources: { limits: { cpu: '500m', memory: '0' } } }),
        ),
      ),
    ],
    [
      'sandbox-no-token',
      'the token, which is the default',
      changed(template, `${inTemplate}.automountServiceAccountToken`, undefined),
    ],
    ['sandbox-placement', 'other nodes', changed(template, `${inTemplate}.nodeSelector`, { pool: 'web' })],
    [
      'sandbox-placement',
      'every node, of sandboxes that the functions make',
      changed(settings, 'data.PORTHOLE_SANDBOX_POD', undefined),
    ],
    ...[[{ operator: 'Exists' }], [{ key: 'node-role.kubernetes.io/control-plane' }]].map(
      (tolerations): [string, string, Observed] => [
        'sandbox-placement',
        `the taints ${JSON.stringify(tolerations)}`,
        changed(template, `${inTemplate}.tolerations`, tolerations),
      ],
    ),
    [
      'tls-listeners',
      'a listener in clear text',
      changed(
        gateway,
        'spec.listeners',
        listeners({ name: 'http', hostname: '*.preview.test', protocol: 'HTTP' }),
      ),
    ],
    ...[listenerSet, xListenerSet, patchOf(gateway)].map((resource): [string, string, Observed] => [
      'tls-listeners',
      `a listener in clear text of ${resource.type}`,
      changed(
        resource,
        'spec.listeners',
        listeners({ name: 'http', hostname: '*.preview.test', protocol: 'HTTP' }),
      ),
    ]),
    [
      'tls-listeners',
      'a listener without certificate',
      changed(gateway, 'spec.listeners', listeners({ name: 'a', protocol: 'HTTPS', tls: {} })),
    ],
    [
      'tls-listeners',
      'a listener that passes TLS through',
      changed(
        gateway,
        'spec.listeners',
        listeners({ name: 'a', protocol: 'HTTPS', tls: { mode: 'Passthrough', certificateRefs: [{}] } }),
      ),
    ],
    [
      'unmanaged-templates',
      'a managed template',
      changed(template, 'spec.networkPolicyManagement', 'Managed'),
    ],
    [
      'unmanaged-templates',
      'a template that says nothing',
      changed(template, 'spec.networkPolicyManagement', undefined),
    ],
    [
      'unmanaged-templates',
      'a template with its own policy',
      changed(template, 'spec.networkPolicy', { egress: [] }),
    ],
    [
      'unprivileged-pods',
      'root',
      changed(job, 'spec.jobTemplate.spec.template.spec.securityContext.runAsNonRoot', undefined),
    ],
    [
      'unprivileged-pods',
      'root in a container',
      changed(
        pod,
        'spec.containers',
        containers({ securityContext: { ...container.securityContext, runAsNonRoot: false } }),
      ),
    ],
    ['unprivileged-pods', 'no seccomp profile', changed(pod, 'spec.securityContext', { runAsNonRoot: true })],
    [
      'unprivileged-pods',
      'no confinement of its system calls',
      changed(pod, 'spec.securityContext.seccompProfile.type', 'Unconfined'),
    ],
    ...[
      { seccompProfile: { type: 'Unconfined' } },
      { appArmorProfile: { type: 'Unconfined' } },
      { procMount: 'Unmasked' },
    ].map((more): [string, string, Observed] => [
      'unprivileged-pods',
      `no confinement of a container: ${JSON.stringify(more)}`,
      changed(
        pod,
        'spec.containers',
        containers({ securityContext: { ...container.securityContext, ...more } }),
      ),
    ]),
    [
      'unprivileged-pods',
      'no AppArmor profile',
      changed(pod, 'spec.securityContext.appArmorProfile', { type: 'Unconfined' }),
    ],
    [
      'unprivileged-pods',
      'root, in a patch',
      patchOf(changed(deployment, 'spec.template.spec.securityContext.runAsNonRoot', false)),
    ],
    [
      'unprivileged-pods',
      'privilege',
      changed(
        pod,
        'spec.containers',
        containers({ securityContext: { ...container.securityContext, privileged: true } }),
      ),
    ],
    [
      'unprivileged-pods',
      'escalation',
      changed(pod, 'spec.containers', containers({ securityContext: { capabilities: { drop: ['ALL'] } } })),
    ],
    [
      'unprivileged-pods',
      'capabilities',
      changed(pod, 'spec.containers', containers({ securityContext: { allowPrivilegeEscalation: false } })),
    ],
  ])('is stopped by %s alone: %s', async (policy, _, resource) => {
    const found = await pack.evaluate(resource);
    expect(found.map(({ policy, level }) => [policy, level])).toEqual([[policy, 'mandatory']]);
  });

  test.each<[policy: string, resource: Observed]>([
    ['bounded-warm-pools', changed(pool, 'spec.replicas', UNKNOWN)],
    ['no-host-access', changed(pod, 'spec.hostNetwork', UNKNOWN)],
    ['no-wildcard-rbac', changed(role, 'rules', UNKNOWN)],
    ['pinned-images', changed(pod, 'spec.containers', containers({ image: UNKNOWN }))],
    ['pinned-images', changed(settings, 'data.PORTHOLE_SANDBOX_IMAGE', UNKNOWN)],
    ['pinned-images', changed(settings, 'data.PORTHOLE_IMAGES', UNKNOWN)],
    ['sandbox-limits', changed(template, `${inTemplate}.containers`, containers({ resources: UNKNOWN }))],
    ['sandbox-no-token', changed(template, `${inTemplate}.automountServiceAccountToken`, UNKNOWN)],
    ['tls-listeners', changed(gateway, 'spec.listeners', UNKNOWN)],
    ['unmanaged-templates', changed(template, 'spec.networkPolicyManagement', UNKNOWN)],
    ['unprivileged-pods', changed(pod, 'spec.securityContext', UNKNOWN)],
  ])('is left to the update by %s while a preview cannot know', async (policy, resource) => {
    const found = await pack.evaluate(resource);
    expect(found.map(({ policy, level }) => [policy, level])).toEqual([[policy, 'advisory']]);
    expect(found[0]?.message).toContain('during preview');
  });
});

describe('a stack', () => {
  const complies = [settings, networkPolicy, gateway, route];
  const other = (changedOne: Observed) =>
    complies.map((each) => (each.type === changedOne.type ? changedOne : each));

  test('passes when it complies', async () => {
    expect(await pack.evaluateStack(complies)).toEqual([]);
  });

  test('lets in to its own pods whom it likes', async () => {
    const functions = observed('networking.k8s.io/v1:NetworkPolicy', {
      spec: {
        podSelector: { matchLabels: { 'app.kubernetes.io/part-of': 'porthole' } },
        ingress: ports({ protocol: 'TCP', port: 8787 }),
      },
    });
    expect(await pack.evaluateStack([...complies, functions])).toEqual([]);
  });

  test('lets the gateway connect to the guest, too, when previews go through it', async () => {
    const guest = [changed(settings, 'data.Sandbox__Preview__Upstream', 'guest'), gateway, route];
    const range = { protocol: 'TCP', port: 3000, endPort: 9000 };
    const withGuest = ports(range, { protocol: 'TCP', port: GUEST_PREVIEW_PORT });
    expect(await pack.evaluateStack([...guest, changed(networkPolicy, 'spec.ingress', withGuest)])).toEqual(
      [],
    );
    const found = await pack.evaluateStack([...guest, changed(networkPolicy, 'spec.ingress', ports(range))]);
    expect(found.map(({ policy }) => policy)).toEqual(['network-range']);
  });

  test('lets only its own pods call the guests of sandboxes', async () => {
    const letIn = (matchLabels: object) =>
      changed(networkPolicy, 'spec.ingress', [
        { from: [{ podSelector: { matchLabels } }], ports: [{ protocol: 'TCP', port: 2790 }] },
      ]);
    const own = letIn({ 'app.kubernetes.io/part-of': 'porthole' });
    expect(await pack.evaluateStack([...complies, own])).toEqual([]);
    const found = await pack.evaluateStack([...complies, letIn({ app: 'other' })]);
    expect(found.map(({ policy }) => policy)).toEqual(['network-range']);
  });

  test.each<[what: string, egress: readonly object[]]>([
    [
      'the internet without metadata addresses',
      [
        {
          to: [
            {
              ipBlock: {
                cidr: '0.0.0.0/0',
                except: ['169.254.0.0/16', '100.64.0.0/10', '168.63.129.16/32', '192.0.0.0/24'],
              },
            },
            { ipBlock: { cidr: '::/0', except: ['fe80::/10', 'fc00::/7'] } },
          ],
        },
      ],
    ],
    ['a range without metadata addresses', [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }]],
    ['pods', [{ to: [{ podSelector: { matchLabels: { app: 'broker' } } }], ports: [{ port: 443 }] }]],
  ])('lets sandboxes reach %s', async (_, egress) => {
    expect(await pack.evaluateStack(other(changed(networkPolicy, 'spec.egress', egress)))).toEqual([]);
  });

  test('lets its own pods reach every address', async () => {
    const functions = observed('networking.k8s.io/v1:NetworkPolicy', {
      spec: { podSelector: { matchLabels: { 'app.kubernetes.io/part-of': 'porthole' } }, egress: [{}] },
    });
    expect(await pack.evaluateStack([...complies, functions])).toEqual([]);
  });

  test('passes when it contains nothing of ours', async () => {
    const foreign = observed('core/v1:ConfigMap', { data: { COLOUR: 'red' } });
    expect(await pack.evaluateStack([foreign, changed(route, 'spec.hostnames', ['*.example.com'])])).toEqual(
      [],
    );
  });

  test.each<[policy: string, what: string, resources: readonly Observed[]]>([
    [
      'network-range',
      'a wider range',
      other(changed(networkPolicy, 'spec.ingress', ports({ protocol: 'TCP', port: 3000, endPort: 9001 }))),
    ],
    [
      'network-range',
      'a range of UDP',
      other(changed(networkPolicy, 'spec.ingress', ports({ protocol: 'UDP', port: 3000, endPort: 9000 }))),
    ],
    [
      'network-range',
      'a second range',
      other(changed(networkPolicy, 'spec.ingress', ports({ port: 3000, endPort: 9000 }, { port: 22 }))),
    ],
    ['network-range', 'every port', other(changed(networkPolicy, 'spec.ingress', [{ from: [{}] }]))],
    [
      'network-range',
      'everybody',
      other(changed(networkPolicy, 'spec.ingress', [{ ports: [{ port: 3000, endPort: 9000 }] }])),
    ],
    ['network-range', 'nothing', [settings, gateway, route]],
    ...['0.0.0.0/0', '::/0'].map((cidr): [string, string, Observed[]] => [
      'network-range',
      `every address: ${cidr}`,
      other(changed(networkPolicy, 'spec.ingress', from({ ipBlock: { cidr } }))),
    ]),
    ...[
      { namespaceSelector: {} },
      { namespaceSelector: { matchLabels: {}, matchExpressions: [] }, podSelector: {} },
      { namespaceSelector: {}, podSelector: { matchLabels: { app: 'traefik' } } },
    ].map((peer): [string, string, Observed[]] => [
      'network-range',
      `all namespaces: ${JSON.stringify(peer)}`,
      other(changed(networkPolicy, 'spec.ingress', from(peer))),
    ]),
    [
      'network-range',
      'all namespaces, to the guests',
      [
        ...complies,
        changed(networkPolicy, 'spec.ingress', [
          {
            from: [
              {
                namespaceSelector: {},
                podSelector: { matchLabels: { 'app.kubernetes.io/part-of': 'porthole' } },
              },
            ],
            ports: [{ protocol: 'TCP', port: 2790 }],
          },
        ]),
      ],
    ],
    ...[{}, { ports: [{ port: 80 }] }, { to: [] }].map((rule): [string, string, Observed[]] => [
      'network-range',
      `a way out to every address: ${JSON.stringify(rule)}`,
      other(changed(networkPolicy, 'spec.egress', [rule])),
    ]),
    ...[
      { cidr: '169.254.169.254/32' },
      { cidr: '169.254.0.0/16' },
      { cidr: '169.0.0.0/8', except: ['169.254.169.254/32'] },
      { cidr: '0.0.0.0/0' },
      { cidr: '0.0.0.0/0', except: ['10.0.0.0/8'] },
      { cidr: '::/0' },
      { cidr: '100.100.100.200/32' },
      { cidr: '168.63.0.0/16' },
      { cidr: '192.0.0.0/24' },
      { cidr: 'fe80::1/128' },
      { cidr: 'fd00::/8' },
    ].map((ipBlock): [string, string, Observed[]] => [
      'network-range',
      `a way out to metadata addresses: ${JSON.stringify(ipBlock)}`,
      other(changed(networkPolicy, 'spec.egress', [{ to: [{ ipBlock }] }])),
    ]),
    [
      'network-range',
      'a way out to every address, in a patch',
      [...complies, patchOf(changed(networkPolicy, 'spec', { egress: [{}] }))],
    ],
    ...[listenerSet, xListenerSet].flatMap((resource): [string, string, Observed[]][] => [
      [
        'wildcard-under-zone',
        `a wildcard above the zone, of ${resource.type}`,
        [...complies, changed(resource, 'spec.listeners', [{ name: 'a', hostname: '*.test' }])],
      ],
      [
        'wildcard-under-zone',
        `a listener for every host, of ${resource.type}`,
        [...complies, changed(resource, 'spec.listeners', [{ name: 'a' }])],
      ],
    ]),
    [
      'wildcard-under-zone',
      'the wildcard of another zone',
      other(changed(route, 'spec.hostnames', ['*.example.com'])),
    ],
    [
      'wildcard-under-zone',
      'a wildcard above the zone',
      other(changed(gateway, 'spec.listeners', [{ name: 'a', hostname: '*.test' }])),
    ],
    [
      'wildcard-under-zone',
      'a listener for every host',
      other(changed(gateway, 'spec.listeners', [{ name: 'a' }])),
    ],
    ['wildcard-under-zone', 'a route for every host', other(changed(route, 'spec.hostnames', []))],
  ])('is stopped by %s alone: %s', async (policy, _, resources) => {
    const found = await pack.evaluateStack(resources);
    expect(found.map(({ policy, level }) => [policy, level])).toEqual([[policy, 'mandatory']]);
  });

  test.each<[policy: string, resources: readonly Observed[]]>([
    ['network-range', other(changed(networkPolicy, 'spec.ingress', UNKNOWN))],
    ['network-range', other(changed(networkPolicy, 'spec.egress', UNKNOWN))],
    ['wildcard-under-zone', other(changed(route, 'spec.hostnames', UNKNOWN))],
  ])('is left to the update by %s while a preview cannot know', async (policy, resources) => {
    const found = await pack.evaluateStack(resources);
    expect(found.map(({ policy, level }) => [policy, level])).toEqual([[policy, 'advisory']]);
  });
});
