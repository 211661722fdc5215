import { rootCertificates } from 'node:tls';
import { describe, expect, test } from '@jest/globals';
import { createGuestKeys, deriveKeySet } from '#protocol/guest/key-set.ts';
import { JwksSchema } from '#protocol/settings/shared-values.ts';
import { sandboxPodManifests } from '#constructs/sandbox-pod.ts';
import { GUEST_STATE, guestKeysOf } from '#protocol/guest/guest-pod.ts';
import { accessPlan } from '../../infra/access.ts';
import { authorities, authorityData } from '../../infra/authorities.plan.ts';
import { environmentPlan } from '../../infra/environment.plan.ts';
import { autoscalerPlan, deploymentPlan } from '../../infra/functions.ts';
import { lifecyclePlan, reaperPlan, snapshotsPlan, warmPoolPlan } from '../../infra/scheduled-jobs.ts';
import { guestKeys, templatesPlan, warmPoolsPlan } from '../../infra/sandboxes.plan.ts';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import { SIGNING_KEYS, stackFile, values } from './support/stack-files.ts';

const config = (more: Readonly<Record<string, unknown>> = {}) =>
  readStackConfig(values(stackFile(more)), () => true);

describe('the rights of the functions', () => {
  const resources = (sandboxes: object) =>
    accessPlan(config({ 'porthole:sandboxes': sandboxes }))
      .find(({ id }) => id === 'functions')
      ?.role.rules.map(({ resources: [resource], verbs }) => `${resource}: ${verbs.join(' ')}`);
  const previews = [
    'httproutes: get list create patch delete',
    'services: get list create patch delete',
    'resourcequotas: get',
  ];
  const pools = { templates: { node: { image: 'node' } }, warmPools: { ready: { template: 'node' } } };

  test('make pods only where the functions do', () => {
    expect(resources({ image: 'node' })).toEqual([
      ...previews,
      'pods: get list watch create delete',
      'persistentvolumeclaims: get list watch create delete',
    ]);
    expect(resources(pools)).toEqual([
      ...previews,
      'pods: get watch',
      'sandboxclaims: get list watch create delete',
      'sandboxes: get watch patch',
      'sandboxwarmpools: get',
      'sandboxwarmpools/scale: patch',
    ]);
  });

  test('are those of both where the provider is found out at the start', () => {
    expect(resources({ ...pools, provider: 'auto', image: 'node' })).toEqual([
      ...previews,
      'pods: get list watch create delete',
      'persistentvolumeclaims: get list watch create delete',
      'sandboxclaims: get list watch create delete',
      'sandboxes: get watch patch',
      'sandboxwarmpools: get',
      'sandboxwarmpools/scale: patch',
    ]);
  });
});

test('runs the lifecycle pass of sandboxes each minute, with separate rights', () => {
  const { metadata, spec } = lifecyclePlan(config());
  expect(metadata).toMatchObject({ name: 'porthole-lifecycle', namespace: 'porthole' });
  expect([spec.schedule, spec.concurrencyPolicy]).toEqual(['* * * * *', 'Forbid']);
  const pod = spec.jobTemplate.spec.template.spec;
  expect(pod.serviceAccountName).toBe('porthole-lifecycle');
  expect(pod.containers.map(({ args }) => args)).toEqual([['host/lifecycle-pass-once.ts']]);
});

test('removes the snapshots of the editor every ten minutes, with separate rights', () => {
  const { metadata, spec } = snapshotsPlan(config());
  expect(metadata).toMatchObject({ name: 'porthole-snapshots-clean', namespace: 'porthole' });
  expect([spec.schedule, spec.concurrencyPolicy]).toEqual(['*/10 * * * *', 'Forbid']);
  const pod = spec.jobTemplate.spec.template.spec;
  expect(pod.serviceAccountName).toBe('porthole-snapshots-clean');
  expect(pod.containers.map(({ args }) => args)).toEqual([['host/clean-snapshots-once.ts']]);
});

test.each([
  [{ image: 'node' }, ['pods: get watch delete', 'persistentvolumeclaims: get watch delete']],
  [
    { templates: { node: { image: 'node' } }, warmPools: { ready: { template: 'node' } } },
    ['pods: get watch', 'sandboxclaims: get watch delete', 'sandboxes: get watch'],
  ],
])(
  'allows the removal of snapshots to destroy sandboxes and no more, archives or not: %j',
  (sandboxes, rights) => {
    const archives = { bucket: 'archives', existingSecret: 'keys' };
    for (const more of [{}, { 'porthole:archives': archives }]) {
      const plan = accessPlan(config({ 'porthole:sandboxes': sandboxes, ...more }));
      const rules = plan.find(({ id }) => id === 'snapshots-clean')?.role.rules;
      expect(rules?.map(({ resources: [resource], verbs }) => `${resource}: ${verbs.join(' ')}`)).toEqual(
        rights,
      );
    }
  },
);

describe('a warm pool', () => {
  const pools = {
    templates: { node: { image: 'node' } },
    warmPools: { big: { template: 'node', replicas: 2 }, small: { template: 'node', replicas: 1 } },
    warmPool: 'small',
  };
  const given = (sandboxes: object) => config({ 'porthole:sandboxes': { ...pools, ...sandboxes } });
  const replicas = (sandboxes: object) =>
    warmPoolsPlan(given(sandboxes)).map(({ metadata, spec }) => [metadata.name, spec.replicas]);

  test('has the size that the stack says until a target says another', () => {
    expect(replicas({})).toEqual([
      ['big', 2],
      ['small', 1],
    ]);
    expect(replicas({ warmPoolTarget: 7 })).toEqual([
      ['big', 2],
      ['small', 7],
    ]);
  });

  test('is primed each minute where it has a target, with the rights of the functions and apart from them', () => {
    expect(warmPoolPlan(given({}))).toBeUndefined();
    const plan = warmPoolPlan(given({ warmPoolTarget: 7 }));
    expect(plan?.metadata).toMatchObject({ name: 'porthole-warm-pool', namespace: 'porthole' });
    expect(plan?.spec.schedule).toBe('* * * * *');
    const { metadata, spec } = plan?.spec.jobTemplate.spec.template ?? {};
    expect(metadata?.labels).toMatchObject({ 'app.kubernetes.io/component': 'warm-pool' });
    expect(spec?.serviceAccountName).toBe('porthole');
    expect(spec?.containers.map(({ args }) => args)).toEqual([['host/prime-once.ts']]);
  });

  test('tells the functions its target, and no more', () => {
    expect(environmentPlan(given({ warmPoolTarget: 7 }))).toMatchObject({ WARM_POOL_TARGET: '7' });
    expect(environmentPlan(given({}))).not.toHaveProperty('WARM_POOL_TARGET');
  });

  test('is the only one that the functions may look at and scale', () => {
    const rules = accessPlan(given({ warmPoolTarget: 7 }))[0]?.role.rules.filter(({ resources }) =>
      resources[0]?.startsWith('sandboxwarmpools'),
    );
    expect(rules).toEqual([
      {
        apiGroups: ['extensions.agents.x-k8s.io'],
        resources: ['sandboxwarmpools'],
        resourceNames: ['small'],
        verbs: ['get'],
      },
      {
        apiGroups: ['extensions.agents.x-k8s.io'],
        resources: ['sandboxwarmpools/scale'],
        resourceNames: ['small'],
        verbs: ['patch'],
      },
    ]);
  });
});

describe('the functions', () => {
  test('are probed by the one Host that they answer to', () => {
    const [container] = deploymentPlan(config()).spec.template.spec.containers;
    expect(container?.readinessProbe.httpGet).toEqual({
      path: '/health',
      port: 'http',
      httpHeaders: [{ name: 'Host', value: 'porthole.example.com' }],
    });
  });

  test('are scaled between the first and the most replicas, where these differ', () => {
    const scaling = autoscalerPlan(config());
    expect([scaling?.spec.minReplicas, scaling?.spec.maxReplicas]).toEqual([2, 10]);
    expect(
      autoscalerPlan(config({ 'porthole:functions': { image: 'x', replicas: 3, maxReplicas: 3 } })),
    ).toBeUndefined();
  });
});

describe('the authorities behind certificates', () => {
  const [ca = ''] = rootCertificates;
  const given = config({
    'porthole:gateway': {
      className: 'traefik',
      podNamespace: 'traefik',
      podLabels: { app: 'traefik' },
      probe: { url: 'https://traefik.traefik.svc', ca },
    },
    'porthole:functions': { image: 'x', databaseCa: ca },
  });

  test.each([
    ['gateway', '/etc/porthole/gateway'],
    ['database', '/etc/porthole/database'],
  ])('are mounted, for the %s, where the functions and the reaper read them', (what, folder) => {
    const functions = deploymentPlan(given).spec.template.spec;
    const reaper = reaperPlan(given).spec.jobTemplate.spec.template.spec;
    for (const { volumes, containers } of [functions, reaper]) {
      const name = `porthole-${what}-authority`;
      expect(containers[0]?.volumeMounts).toContainEqual({ name, mountPath: folder, readOnly: true });
      expect(volumes).toContainEqual({ name, configMap: { name } });
    }
    expect(environmentPlan(given)['PORTHOLE_GATEWAY_CA']).toBe('/etc/porthole/gateway/ca.crt');
    expect(authorities(given).map(authorityData)).toEqual([{ 'ca.crt': ca }, { 'ca.crt': ca }]);
  });

  test('are not mounted where every system knows them', () => {
    expect(authorities(config())).toEqual([]);
    expect(environmentPlan(config())).not.toHaveProperty('PORTHOLE_GATEWAY_CA');
    const { volumes } = deploymentPlan(config()).spec.template.spec;
    expect(volumes.map(({ name }) => name)).toEqual(['data', 'tmp']);
  });
});

describe('sandboxes from templates', () => {
  const given = config({
    'porthole:sandboxes': {
      storageClass: 'fast',
      templates: { node: { image: 'sandbox@sha256:1', runtimeClassName: 'gvisor' } },
      warmPools: { ready: { template: 'node', replicas: 2 } },
    },
  });

  test('are made only where the stack asks for them', () => {
    expect(templatesPlan(config())).toEqual([]);
    expect(warmPoolsPlan(config())).toEqual([]);
    expect(warmPoolsPlan(given).map(({ metadata, spec }) => [metadata.name, spec])).toEqual([
      ['ready', { replicas: 2, sandboxTemplateRef: { name: 'node' } }],
    ]);
  });

  test('leave the network to this stack, and bear the label that closes it', () => {
    const [template] = templatesPlan(given);
    expect(template?.spec.networkPolicyManagement).toBe('Unmanaged');
    expect(template?.spec.podTemplate.metadata.labels).toEqual({
      'porthole.sandbox.users.io/role': 'sandbox',
    });
    expect(template?.spec.podTemplate.spec).toMatchObject({
      automountServiceAccountToken: false,
      runtimeClassName: 'gvisor',
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    });
  });

  test('are isolated as the stack says for all sandboxes, unless a template names its RuntimeClass', () => {
    const [one, other] = templatesPlan(
      config({
        'porthole:sandboxes': {
          runtimeClassName: 'kata',
          hostUsers: false,
          templates: { node: { image: 'node', runtimeClassName: 'gvisor' }, python: { image: 'python' } },
          warmPools: { ready: { template: 'node' } },
        },
      }),
    );
    expect(one?.spec.podTemplate.spec).toMatchObject({ runtimeClassName: 'gvisor', hostUsers: false });
    expect(other?.spec.podTemplate.spec).toMatchObject({ runtimeClassName: 'kata', hostUsers: false });
  });

  test('are placed as the stack says for all sandboxes, unless a template says otherwise', () => {
    const [one, other] = templatesPlan(
      config({
        'porthole:sandboxes': {
          priorityClassName: 'low',
          pod: { nodeSelector: { pool: 'sandboxes' }, labels: { team: 'agents' } },
          templates: {
            gpu: {
              image: 'gpu',
              priorityClassName: 'high',
              pod: { tolerations: [{ key: 'gpu', operator: 'Exists' }], annotations: { a: 'b' } },
            },
            node: { image: 'node' },
          },
          warmPools: { ready: { template: 'node' } },
        },
      }),
    );
    expect(one?.spec.podTemplate).toMatchObject({
      metadata: { annotations: { a: 'b' } },
      spec: { priorityClassName: 'high', tolerations: [{ key: 'gpu', operator: 'Exists' }] },
    });
    expect(one?.spec.podTemplate.spec).not.toHaveProperty('nodeSelector');
    expect(other?.spec.podTemplate).toMatchObject({
      metadata: { labels: { team: 'agents', 'porthole.sandbox.users.io/role': 'sandbox' } },
      spec: { priorityClassName: 'low', nodeSelector: { pool: 'sandboxes' } },
    });
    expect(other?.spec.podTemplate.metadata).not.toHaveProperty('annotations');
  });

  test('run the guest with the keys that the functions sign with, or with those that the stack names', () => {
    const guested = (more: object) =>
      templatesPlan(
        config({
          'porthole:sandboxes': {
            templates: { node: { image: 'node' } },
            warmPools: { ready: { template: 'node' } },
            ...more,
          },
        }),
      )[0]?.spec.podTemplate.spec;
    const keysOf = (pod: ReturnType<typeof guested>) => guestKeysOf(pod?.containers[0]?.command);
    const jwks = JwksSchema.parse(JSON.parse(SIGNING_KEYS));
    const { publicKeys } = createGuestKeys(deriveKeySet(jwks));
    const pod = guested({});
    expect(keysOf(pod)).toBe(publicKeys);
    expect(keysOf(guested({ guestKeys: 'k'.repeat(43) }))).toBe('k'.repeat(43));
    expect(pod?.containers[0]?.volumeMounts).toContainEqual({ name: 'guest', mountPath: GUEST_STATE });
    expect(pod?.volumes.map(({ name }) => name)).toEqual(['tmp', 'home', 'guest']);
    expect(pod).not.toHaveProperty('initContainers');
    const installed = guested({ guestImage: 'guest' });
    const { resources, securityContext } = installed?.containers[0] ?? {};
    expect(installed?.initContainers).toMatchObject([{ image: 'guest', resources, securityContext }]);
    expect(installed?.volumes.at(-1)?.name).toBe('porthole');
    expect(installed?.containers[0]?.volumeMounts.at(-1)).toMatchObject({
      mountPath: '/porthole',
      readOnly: true,
    });
  });

  test('keep their workspace on a separate volume of the stack’s StorageClass', () => {
    const [template] = templatesPlan(given);
    expect(template?.spec.volumeClaimTemplates).toEqual([
      {
        metadata: { name: 'workspace' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          resources: { requests: { storage: '1Gi' } },
          storageClassName: 'fast',
        },
      },
    ]);
  });

  test('are as closed in as the pods that Porthole makes itself, and run the guest the same', () => {
    const made = sandboxPodManifests({
      namespace: 'agentweaver',
      sandboxId: 'abc',
      image: 'sandbox@sha256:1',
      guestKeys: guestKeys(given) ?? '',
    }).pod as {
      spec: {
        containers: Record<string, unknown>[];
        securityContext: object;
        shareProcessNamespace: boolean;
      };
    };
    const [own] = made.spec.containers;
    const [template] = templatesPlan(given);
    const pod = template?.spec.podTemplate.spec;
    const [container] = pod?.containers ?? [];
    const ofTemplate = container?.command ?? [];
    const ofPod = own?.['command'] as string[];
    expect(ofTemplate.slice(0, -1)).toEqual(ofPod.slice(0, -1));
    expect(guestKeysOf(ofTemplate)).toBe(guestKeysOf(ofPod));
    expect(container?.workingDir).toBe(own?.['workingDir']);
    const shared = container?.env.filter(({ name }) => name !== 'SANDBOX_ID') ?? [];
    expect(own?.['env']).toEqual(expect.arrayContaining(shared));
    expect(container?.volumeMounts).toEqual(own?.['volumeMounts']);
    expect(container?.securityContext).toEqual(own?.['securityContext']);
    expect(pod?.securityContext).toEqual(made.spec.securityContext);
    expect(pod?.shareProcessNamespace).toBe(made.spec.shareProcessNamespace);
  });
});
