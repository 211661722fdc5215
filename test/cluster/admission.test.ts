/** What a real API server refuses by the stack's admission policies, whatever the roles allow. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  collection,
  HTTP_ROUTES,
  type Kind,
  PODS,
  SERVICES,
  VOLUME_CLAIMS,
} from '#adapters/kubernetes/client/kubernetes-object.ts';
import type { MergePatch } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { openClusterStreams } from '#adapters/kubernetes/sandboxes/cluster-streams.ts';
import { ANNOTATIONS, LABELS } from '#constructs/names.ts';
import { previewManifests } from '#constructs/preview-objects.ts';
import { sandboxPodManifests, type SandboxPodProps } from '#constructs/sandbox-pod.ts';
import type { StoredRoute } from '#adapters/kubernetes/previews/preview-store.ts';
import type { PreviewSpec } from '#core/previews/preview-plane.ts';
import { previewHost, previewName } from '#core/previews/preview-token.ts';
import { suite } from '#test/support/suite.ts';
import type { Properties } from '../pulumi/wire-values.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { type Actor, GUEST, saidAgainst } from './guards/actor.ts';
import { badRoutes } from './guards/bad-routes.ts';
import { BAD_PODS, BAD_VOLUMES } from './guards/bad-sandboxes.ts';
import { BAD_SERVICES } from './guards/bad-services.ts';
import { at, each, unlabelled } from './guards/change.ts';
import { claimAdmission } from './guards/claim-admission.ts';
import { type GuardedStack, openGuardedStack } from './guards/guarded-stack.ts';
import { newSpec } from './guards/new-spec.ts';

const hours = (count: number) => new Date(Date.now() + count * 3_600_000);

const NODE_LABELS = [{ key: 'pool', operator: 'In', values: ['sandboxes'] }];

/** What a stack adds to its sandboxes, and the classes that it names. */
const metadata = { name: 'admission-of-placed-sandboxes' };
const PLACED = {
  metadata,
  pod: {
    labels: { team: 'agents' },
    annotations: { 'example.com/cost-center': "it's 42" },
    nodeSelector: { pool: 'sandboxes' },
    tolerations: [
      { key: 'sandboxes', operator: 'Equal', value: 'only', effect: 'NoExecute', tolerationSeconds: 60 },
    ],
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 10, preference: { matchExpressions: NODE_LABELS } },
        ],
      },
    },
    topologySpreadConstraints: [
      {
        maxSkew: 2,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: { [LABELS.role]: 'sandbox' } },
      },
    ],
  },
  list: {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata, value: -10 },
      {
        apiVersion: 'node.k8s.io/v1',
        kind: 'RuntimeClass',
        metadata,
        handler: 'strong',
        scheduling: { nodeSelector: { runtime: 'strong' }, tolerations: [{ key: 'strong' }] },
      },
    ],
  },
};

/** Rows are defined before a stack exists: their names are valid for any stack. */
const NAMES = {
  name: 'preview-of-the-row',
  zone: 'zone.of.the.row',
  apiHost: 'api.of.the.row',
  hostname: 'host-preview.zone.of.the.row',
  functionsNamespace: 'functions-of-the-row',
};

suite('admission', missing(), () => {
  let fixture: Cluster;
  let stack: GuardedStack;
  let functions: Actor;
  let reaper: Actor;

  const of = (kind: Kind) => collection(kind, stack.config.namespaces.previews);

  function manifests(spec: PreviewSpec, upstream: 'guest' | 'direct' = 'direct') {
    const { namespaces, gateway, zone } = stack.config;
    return previewManifests({
      ...spec,
      name: previewName(spec.token),
      namespace: namespaces.previews,
      gateway: { name: gateway.name, namespace: namespaces.gateway, sectionName: 'previews' },
      hostname: previewHost(spec.token, zone),
      attempt: 'one',
      upstream,
    });
  }
  const service = (spec = newSpec()) => manifests(spec).service as Properties;
  const route = (spec = newSpec()) => manifests(spec).route({ uid: '0', resourceVersion: '1' }) as Properties;
  const sandbox = (more: Partial<SandboxPodProps> = {}) =>
    sandboxPodManifests({
      namespace: stack.config.namespaces.previews,
      sandboxId: 'abc',
      image: 'sandbox',
      guestKeys: GUEST.keys.publicKeys,
      ...more,
    }) as { pod: Properties; volumeClaim: Properties };

  beforeAll(async () => {
    fixture = await cluster();
    stack = await openGuardedStack(fixture, { image: 'sandbox' }, undefined, { upstream: 'direct' });
    [functions, reaper] = await Promise.all([stack.as('porthole'), stack.as('porthole-reaper')]);
    // The namespace's Pod Security level would refuse some pods first; an existing one may have
    // none.
    const { previews } = stack.config.namespaces;
    await fixture.kubectl(['label', 'namespace', previews, 'pod-security.kubernetes.io/enforce-']);
  }, 60_000);
  afterAll(() => stack.close());

  test('accepts from the functions what the constructs make', async () => {
    expect(await functions.refusal('services', service())).toBeUndefined();
    expect(await functions.refusal('httproutes', route())).toBeUndefined();
    expect(await functions.refusal('persistentvolumeclaims', sandbox().volumeClaim)).toBeUndefined();
    expect(await functions.refusal('pods', sandbox().pod)).toBeUndefined();
  });

  test.each(badRoutes(NAMES))('refuses the functions a route with %s', async (what) => {
    const spec = newSpec();
    const { zone, apiHost, namespaces } = stack.config;
    const [, spoil, reason] =
      badRoutes({
        name: previewName(spec.token),
        zone,
        apiHost,
        hostname: previewHost(spec.token, zone),
        functionsNamespace: namespaces.functions,
      }).find(([row]) => row === what) ?? [];
    expect(await functions.refusal('httproutes', spoil?.(route(spec)) ?? {})).toContain(reason);
  });

  test.each(BAD_SERVICES)('refuses the functions a Service with %s', async (_, spoil, reason) => {
    const plain = at('spec.clusterIP', undefined)(service());
    expect(await functions.refusal('services', spoil(plain))).toContain(reason);
  });

  test.each(BAD_PODS)('refuses the functions a pod with %s', async (_, spoil, reason) => {
    expect(await functions.refusal('pods', spoil(sandbox().pod))).toContain(reason);
  });

  test.each(BAD_VOLUMES)('refuses the functions %s', async (_, spoil, reason) => {
    expect(await functions.refusal('persistentvolumeclaims', spoil(sandbox().volumeClaim))).toContain(reason);
  });

  test('refuses a bad preview to all accounts', async () => {
    const bad = at('spec.hostnames', ['swift-preview.evil.test'])(route());
    expect(await stack.admin.refusal('httproutes', bad)).toContain('foreign hostname');
    const worse = at('spec.externalIPs', ['203.0.113.1'])(service());
    expect(await stack.admin.refusal('services', worse)).toContain('foreign type');
  });

  test('leaves what others make alone', async () => {
    const { admin } = stack;
    const shop = unlabelled(at('spec.hostnames', ['shop.example.com'])(route()));
    expect(await admin.refusal('httproutes', shop)).toBeUndefined();
    expect(await admin.refusal('services', unlabelled(at('spec.selector', {})(service())))).toBeUndefined();
    expect(await admin.refusal('pods', unlabelled(sandbox().pod))).toBeUndefined();
  });

  test.each(['services', 'httproutes'])(
    'refuses the functions previews by way of the guest: %s',
    async (plural) => {
      const { service, route } = manifests(newSpec(), 'guest');
      const made = plural === 'services' ? service : route({ uid: '0', resourceVersion: '1' });
      const reason = plural === 'services' ? 'port out of range' : 'foreign backend';
      expect(await functions.refusal(plural, made as Properties)).toContain(reason);
    },
  );

  describe('where previews go by way of the guest', () => {
    let outer: GuardedStack;
    let guarded: Actor;
    const made = (upstream: 'guest' | 'direct') => {
      const { service, route } = manifests(newSpec(), upstream);
      return {
        service: service as Properties,
        route: route({ uid: '0', resourceVersion: '1' }) as Properties,
      };
    };

    const placed = (change: Partial<SandboxPodProps> = {}) => {
      const { name } = PLACED.metadata;
      const classes = { priorityClassName: name, runtimeClassName: name };
      return sandbox({ guestImage: 'guest', ...classes, ...PLACED.pod, ...change });
    };

    beforeAll(async () => {
      outer = stack;
      const { name } = PLACED.metadata;
      stack = await openGuardedStack(fixture, {
        image: 'sandbox',
        guestImage: 'guest',
        priorityClassName: name,
        runtimeClassName: name,
        pod: PLACED.pod,
      });
      await fixture.kubectl(['apply', '--filename=-'], JSON.stringify(PLACED.list));
      guarded = await stack.as('porthole');
    }, 60_000);
    afterAll(async () => {
      await stack.close();
      stack = outer;
      await fixture.kubectl(['delete', '--filename=-'], JSON.stringify(PLACED.list));
    });

    test.each(['guest', 'direct'] as const)('accepts a preview by %s', async (upstream) => {
      const { service, route } = made(upstream);
      expect(await guarded.refusal('services', service)).toBeUndefined();
      expect(await guarded.refusal('httproutes', route)).toBeUndefined();
    });

    test('accepts a name as the second host of a route to a guest, and refuses what is none', async () => {
      const { zone } = stack.config;
      const named = (upstream: 'guest' | 'direct', second: string) => {
        const { route } = made(upstream);
        const [own] = (route['spec'] as { hostnames: readonly string[] }).hostnames;
        return guarded.refusal('httproutes', at('spec.hostnames', [own, second])(route));
      };
      expect(await named('guest', `shop-demo-preview.${zone}`)).toBeUndefined();
      expect(await named('direct', `shop-demo-preview.${zone}`)).toContain('foreign hostname');
      for (const bad of [
        'shop-demo-preview.evil.test',
        `shop.demo-preview.${zone}`,
        `1-shop-preview.${zone}`,
        `${'n'.repeat(27)}-preview.${zone}`,
        `shop-demo.${zone}`,
        `*.${zone}`,
      ]) {
        expect([bad, await named('guest', bad)]).toEqual([bad, expect.stringContaining('foreign hostname')]);
      }
    });

    test('accepts that the name of a preview moves, and no other host', async () => {
      const { zone } = stack.config;
      const spec = newSpec();
      const { route } = manifests(spec, 'guest');
      // Its owner does not exist, so with the reference it would be collected.
      const stored = at(
        'metadata.ownerReferences',
        undefined,
      )(route({ uid: '0', resourceVersion: '1' }) as Properties);
      await guarded.client.create(of(HTTP_ROUTES), stored);
      const own = previewHost(spec.token, zone);
      const change = (hostnames: readonly string[]) =>
        saidAgainst(
          guarded.client.mergePatch(of(HTTP_ROUTES), previewName(spec.token), { spec: { hostnames } }),
        );
      expect(await change([own, `shop-demo-preview.${zone}`])).toBeUndefined();
      expect(await change([own, `store-preview.${zone}`])).toBeUndefined();
      expect(await change([own, own.replace(/^./, 'x')])).toContain('foreign hostname');
      const other = previewHost(newSpec().token, zone);
      expect(await change([other, `store-preview.${zone}`])).toContain('changed identity');
      expect(await change([own])).toBeUndefined();
      await guarded.client.delete(of(HTTP_ROUTES), previewName(spec.token));
    });

    test('accepts the init container of the guest’s image, and no other', async () => {
      const { pod } = placed();
      expect(await guarded.refusal('pods', pod)).toBeUndefined();
      expect(await guarded.refusal('pods', placed({ guestImage: 'other' }).pod)).toContain(
        'foreign init container',
      );
      const lasting = each('initContainers', at('restartPolicy', 'Always'))(pod);
      expect(await guarded.refusal('pods', lasting)).toContain('foreign init container');
    });

    test.each<[what: string, change: Partial<SandboxPodProps>, reason: string]>([
      ['any node', { nodeSelector: {} }, 'chosen node'],
      ['other nodes', { nodeSelector: { pool: 'database' } }, 'chosen node'],
      ['one more node label', { nodeSelector: { pool: 'sandboxes', disk: 'fast' } }, 'chosen node'],
      ['every taint', { tolerations: [{ operator: 'Exists' }] }, 'chosen node'],
      ['another taint', { tolerations: [{ key: 'gpu', operator: 'Exists' }] }, 'chosen node'],
      ['no affinity', { affinity: {} }, 'chosen node'],
      ['another affinity', { affinity: { podAntiAffinity: {} } }, 'chosen node'],
      ['no spread', { topologySpreadConstraints: [] }, 'chosen node'],
      ['no PriorityClass', { priorityClassName: '' }, 'foreign priority'],
      ['another team', { labels: { team: 'other' } }, 'foreign label'],
      ['no team', { labels: {} }, 'foreign label'],
      ['one more annotation', { annotations: { 'sidecar.istio.io/inject': 'true' } }, 'foreign label'],
    ])('refuses a pod with %s, where the stack says otherwise', async (_, change, reason) => {
      expect(await guarded.refusal('pods', placed(change).pod)).toContain(reason);
    });

    const set = (name: string, value: string) => ({ name, value });
    const headers = (modifier: object) => ({
      filters: [{ type: 'RequestHeaderModifier', requestHeaderModifier: modifier }],
    });
    const own = set('X-Porthole-Port', '3000');
    test.each<[string, object]>([
      ['another port', headers({ set: [set('X-Porthole-Port', '3001')] })],
      ['no port', { filters: [] }],
      ['a port that is added to the client’s', headers({ add: [own] })],
      ['one more header', headers({ set: [own, set('Authorization', 'x')] })],
      [
        'a Host that the guest does not know',
        {
          filters: [
            { type: 'URLRewrite', urlRewrite: { hostname: 'localhost' } },
            ...headers({ set: [own] }).filters,
          ],
        },
      ],
      ['some paths alone', { matches: [{ path: { type: 'PathPrefix', value: '/a' } }] }],
    ])('refuses a route with %s', async (_, change) => {
      const spoil = each('rules', (rule) => ({ ...rule, ...change }));
      expect(await guarded.refusal('httproutes', spoil(made('guest').route))).toContain('foreign rule');
    });

    test.each([2790, 2792, 9001])('refuses a Service that leads to port %i', async (targetPort) => {
      const spoil = at('spec.ports', [{ port: 80, targetPort }]);
      expect(await guarded.refusal('services', spoil(made('guest').service))).toContain('port out of range');
    });
  });

  describe('of an existing preview', () => {
    const spec = newSpec();
    const name = previewName(spec.token);
    const edit = (kind: Kind, change: MergePatch) =>
      saidAgainst(functions.client.mergePatch(of(kind), name, change));
    const note = (id: keyof typeof ANNOTATIONS, value: string) =>
      edit(HTTP_ROUTES, { metadata: { annotations: { [ANNOTATIONS[id]]: value } } });

    beforeAll(async () => {
      await functions.plane.open(spec);
    });
    afterAll(async () => {
      await functions.plane.close({ name });
    });

    test('accepts that its expiry moves, and no further than max-until', async () => {
      expect(await note('expiresAt', hours(1).toISOString())).toBeUndefined();
      expect(await note('expiresAt', hours(9).toISOString())).toContain('expiry past max-until');
    });

    test.each<[keyof typeof ANNOTATIONS, string]>([
      ['runId', 'run_2'],
      ['owner', 'eve'],
      ['sandboxId', 'other'],
      ['podName', 'other'],
      ['targetPort', '3001'],
      ['startedAt', '2026-01-01T00:00:00Z'],
      ['maxUntil', hours(7).toISOString()],
      ['attempt', 'another'],
      ['ticket', '1'],
      ['serviceVersion', '1'],
    ])('refuses another %s', async (id, value) => {
      expect(await note(id, value)).toContain('changed identity');
    });

    test('accepts that it is detached and attached, and no other parent', async () => {
      const { spec: stored } = await functions.client.get<StoredRoute>(of(HTTP_ROUTES), name);
      const parentRefs = (stored?.parentRefs ?? []) as object[];
      const hangOn = (parents: object[]) => edit(HTTP_ROUTES, { spec: { parentRefs: parents } });
      expect(await hangOn([])).toBeUndefined();
      expect(await hangOn([{ ...parentRefs[0], name: 'other' }])).toContain('another parent');
      expect(await hangOn(parentRefs)).toBeUndefined();
    });

    test('refuses another host', async () => {
      const host = previewHost(newSpec().token, stack.config.zone);
      const change = { spec: { hostnames: [host] } };
      expect(await edit(HTTP_ROUTES, change)).toContain('changed identity');
    });

    test('refuses that its label goes, which would put it out of reach', async () => {
      const change = { metadata: { labels: { [LABELS.component]: null } } };
      expect(await edit(HTTP_ROUTES, change)).toContain('not a preview');
    });

    test('refuses another selector for its Service', async () => {
      const change = { spec: { selector: { [LABELS.sandbox]: 'other' } } };
      expect(await edit(SERVICES, change)).toContain('changed identity');
    });
  });

  describe('of what Porthole did not make', () => {
    // Named like a preview: the labels distinguish them.
    const name = `preview-${'0'.repeat(20)}`;
    const metadata = { name };
    const labelled = { selector: { [LABELS.sandbox]: 'theirs' }, ports: [{ port: 80, targetPort: 3000 }] };
    const gated = {
      schedulingGates: [{ name: 'porthole.test/never' }],
      containers: [{ name: 'a', image: 'a' }],
    };
    const volume = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } };
    const foreign: [Kind, apiVersion: string, kind: string, spec: object][] = [
      [HTTP_ROUTES, 'gateway.networking.k8s.io/v1', 'HTTPRoute', { hostnames: ['shop.example.com'] }],
      // Valid except for this.
      [SERVICES, 'v1', 'Service', labelled],
      [VOLUME_CLAIMS, 'v1', 'PersistentVolumeClaim', volume],
      [PODS, 'v1', 'Pod', gated],
    ];

    beforeAll(async () => {
      for (const [plural, apiVersion, kind, spec] of foreign)
        await stack.admin.client.create(of(plural), { apiVersion, kind, metadata, spec });
    });

    test.each(foreign.map(([kind]) => kind))('refuses the functions to delete: $plural', async (kind) => {
      expect(await saidAgainst(functions.client.delete(of(kind), name))).toContain('foreign object');
    });

    test.each([HTTP_ROUTES, SERVICES])('refuses the reaper to delete: $plural', async (kind) => {
      expect(await saidAgainst(reaper.client.delete(of(kind), name))).toContain('foreign object');
    });

    test.each([HTTP_ROUTES, SERVICES])('refuses the functions to take over: $plural', async (kind) => {
      const labels = { [LABELS.managedBy]: 'porthole', [LABELS.component]: 'preview' };
      const said = await saidAgainst(functions.client.mergePatch(of(kind), name, { metadata: { labels } }));
      // If several policies refuse it, any of them may report it.
      expect(said).toContain('denied request: foreign');
    });
  });

  describe('of streams into pods', () => {
    const into = async (pod: string, stream: string): Promise<string | undefined> => {
      const streams = openClusterStreams(functions.access);
      try {
        const path = `${of(PODS).path}/${pod}/${stream}`;
        const request = { path, what: stream };
        return await saidAgainst(streams.socket(request, 'v5.channel.k8s.io'));
      } finally {
        streams.close();
      }
    };

    test.each(['exec?command=id', 'portforward?ports=5432'])(
      'refuses the functions %s, also in a sandbox',
      async (stream) => {
        expect(await into('sandbox-none', stream)).toMatch(/forbidden/i);
      },
    );
  });

  claimAdmission(() => fixture);
});
