import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { collection, HTTP_ROUTES, SERVICES } from '#adapters/kubernetes/client/collection.ts';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import { createKubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { createKubernetesPlane } from '#adapters/kubernetes/preview-plane.ts';
import { systemClock } from '#adapters/system/system-clock.ts';
import { ANNOTATIONS, LABELS } from '#constructs/names.ts';
import { previewManifests } from '#constructs/preview.ts';
import { sandboxPodManifests } from '#constructs/sandbox-pod.ts';
import { ApiServer } from '../infra/engine/api-server.ts';
import { withValueAt } from '../infra/engine/plan-step.ts';
import { Stack, type UpdateResult } from '../infra/engine/stack.ts';
import { isRecord, type Properties } from '../infra/engine/wire-values.ts';
import { DATABASE_URL, MAIN, SERVICE_KEY, stackFile } from '../infra/support/stack-files.ts';
import { suite } from '../support/suite.ts';
import { issueCertificate, makeAuthority } from './bed/certificate-authority.ts';
import { type Cluster, cluster, missing } from './bed/cluster.ts';
import { GATEWAY_CLASS } from './bed/objects.ts';

const NAMESPACES = { previews: 'up-previews', gateway: 'up-gateway', functions: 'up-functions' } as const;
const ZONE = 'up.preview.test';
const FUNCTIONS = `system:serviceaccount:${NAMESPACES.functions}:porthole`;
const REAPER = `system:serviceaccount:${NAMESPACES.functions}:porthole-reaper`;
const MINUTE = 60_000;

/** Time that a fresh stack needs on a busy machine. */
const PATIENT = 5 * MINUTE;

const secondsFromNow = (seconds: number) => new Date(Date.now() + seconds * 1_000);

suite('pulumi up on a real cluster', missing(), () => {
  let bed: Cluster;
  let api: ApiServer;
  let stack: Stack;
  const folder = mkdtempSync(join(tmpdir(), 'porthole-up-'));

  const file = (preview: object = {}) =>
    stackFile({
      'porthole:zone': ZONE,
      'porthole:apiHost': 'porthole.test',
      'porthole:namespaces': { ...NAMESPACES, existing: [NAMESPACES.gateway] },
      'porthole:certificates': { previewSecret: 'wildcard', apiSecret: 'wildcard' },
      'porthole:gateway': {
        className: GATEWAY_CLASS,
        port: bed.gateway.https.port,
        podNamespace: 'gateways',
        podLabels: { app: 'gateway' },
      },
      'porthole:functions': { image: 'porthole.test/functions:none' },
      'porthole:preview': { maxTotal: 3, ...preview },
    });

  /** Sends the object as this user, and gives what the API server has against it; nothing is stored. */
  async function refusal(
    user: string,
    verb: 'create' | 'replace',
    object: unknown,
  ): Promise<string | undefined> {
    const args = [verb, `--as=${user}`, '--dry-run=server', '--filename=-'];
    return outcome(args, JSON.stringify(object));
  }

  async function outcome(args: readonly string[], stdin?: string): Promise<string | undefined> {
    try {
      await bed.kubectl(args, stdin);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  beforeAll(async () => {
    bed = await cluster();
    api = new ApiServer(await bed.kubectl(['config', 'view', '--raw', '--minify', '--output=json']));
    await bed.kubectl(['create', 'namespace', NAMESPACES.gateway]);
    await makeAuthority(folder);
    const dnsNames = [`*.${ZONE}`, 'porthole.test'];
    const request = { commonName: ZONE, use: 'server', dnsNames } as const;
    const { certificate, key } = await issueCertificate(folder, 'wildcard', request);
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'wildcard', namespace: NAMESPACES.gateway },
      type: 'kubernetes.io/tls',
      stringData: { 'tls.crt': certificate, 'tls.key': key },
    };
    await bed.kubectl(['create', '--filename=-'], JSON.stringify(secret));
    stack = new Stack({ project: 'porthole', stack: 'test', main: MAIN, cluster: api });
  }, PATIENT);

  afterAll(async () => {
    await bed.kubectl(['delete', 'namespace', ...Object.values(NAMESPACES), '--ignore-not-found']);
    await api.close();
    rmSync(folder, { recursive: true });
  }, PATIENT);

  const touched = ({ changes }: Pick<UpdateResult, 'changes'>) =>
    changes.map(({ op, name }) => `${op} ${name}`);

  test(
    'a first preview changes nothing, and says what an update will create',
    async () => {
      const preview = await stack.preview(file());
      expect(preview.log).toEqual([]);
      expect(new Set(preview.changes.map(({ op }) => op))).toEqual(new Set(['create']));
      expect(await outcome(['get', 'namespace', NAMESPACES.functions])).toContain('NotFound');
      const up = await stack.up(file());
      expect(up.log).toEqual([]);
      expect(touched(up).toSorted()).toEqual(touched(preview).toSorted());
      expect(up.outputs).toEqual({
        apiUrl:
          bed.gateway.https.port === 443
            ? 'https://porthole.test'
            : `https://porthole.test:${bed.gateway.https.port}`,
        previewZone: ZONE,
        gatewayAddress: bed.gateway.https.host,
      });
    },
    PATIENT,
  );

  test('the fixed routes are accepted by the gateway, and find their Service', async () => {
    for (const name of ['porthole-api', 'porthole-fallback']) {
      for (const condition of ['Accepted', 'ResolvedRefs']) {
        const path = `jsonpath={.status.parents[0].conditions[?(@.type=="${condition}")].status}=True`;
        await bed.kubectl([
          'wait',
          `--for=${path}`,
          `httproute/${name}`,
          `--namespace=${NAMESPACES.functions}`,
        ]);
      }
    }
  });

  test('a second update changes nothing', async () => {
    expect((await stack.up(file())).changes).toEqual([]);
  });

  test('the state holds no secret', () => {
    const state = stack.export();
    expect(state).toContain('porthole-functions-secrets');
    expect(state).not.toContain(DATABASE_URL);
    expect(state).not.toContain(SERVICE_KEY);
  });

  test('a number of replicas that somebody else has set is left alone', async () => {
    const deployment = ['deployment/porthole', `--namespace=${NAMESPACES.functions}`];
    await bed.kubectl(['scale', '--replicas=3', ...deployment]);
    expect((await stack.up(file())).changes).toEqual([]);
    expect(await bed.kubectl(['get', '--output=jsonpath={.spec.replicas}', ...deployment])).toBe('3');
  });

  test('what somebody has changed by hand is put right, and nothing else', async () => {
    const policy = ['networkpolicy/porthole-sandboxes-closed', `--namespace=${NAMESPACES.previews}`];
    await bed.kubectl(['patch', ...policy, '--type=merge', '--patch={"spec":{"policyTypes":["Ingress"]}}']);
    expect(touched(await stack.up(file()))).toEqual(['update porthole-network-closed']);
    expect(await bed.kubectl(['get', '--output=jsonpath={.spec.policyTypes}', ...policy])).toBe(
      '["Ingress","Egress"]',
    );
  });

  test('another port range changes the network policy, the admission of previews and the functions’ ConfigMap', async () => {
    const narrowed = await stack.up(file({ allowedPortMax: 8000 }));
    const changed = narrowed.changes.map(({ op, name, paths }) => [op, name, ...paths]);
    expect(changed.toSorted(([, a = ''], [, b = '']) => a.localeCompare(b))).toEqual([
      [
        'update',
        'porthole-admission-preview-routes',
        'spec.validations[3].expression',
        'spec.validations[3].message',
      ],
      [
        'update',
        'porthole-admission-preview-services',
        'spec.validations[3].expression',
        'spec.validations[3].message',
      ],
      ['update', 'porthole-functions-environment', 'data.Sandbox__Preview__AllowedPortMax'],
      ['update', 'porthole-network-from-gateway', 'spec.ingress[0].ports[0].endPort'],
    ]);
    await stack.up(file());
  });

  test('the API server finds nothing odd in the admission policies', async () => {
    const path = '{range .items[*]}{.metadata.name}{.status.typeChecking.expressionWarnings}{"\\n"}{end}';
    const selected = ['--selector=app.kubernetes.io/part-of=porthole', `--output=jsonpath=${path}`];
    const found = await bed.kubectl(['get', 'validatingadmissionpolicies', ...selected]);
    const ours = found.split('\n').filter((line) => line.startsWith(NAMESPACES.functions));
    expect(ours).toEqual([
      'up-functions-foreign-objects',
      'up-functions-preview-routes',
      'up-functions-preview-services',
      'up-functions-sandbox-pods',
    ]);
  });

  describe('admission', () => {
    const NAME = 'preview-0123456789abcdef0123';
    const HOST = `swift-falcon-amber-abcdefghijklmnopqrstuvwxyz-preview.${ZONE}`;
    const preview = (name = NAME) =>
      previewManifests({
        name,
        namespace: NAMESPACES.previews,
        gateway: { name: 'agentweaver-preview-gateway', namespace: NAMESPACES.gateway },
        hostname: HOST,
        targetPort: 3000,
        runId: 'run_1',
        owner: 'ann',
        sandboxId: 'abc',
        podName: 'sandbox-abc',
        startedAt: secondsFromNow(0),
        expiresAt: secondsFromNow(1_800),
        maxUntil: secondsFromNow(8 * 3_600),
        attempt: 'one',
      });
    const route = () => preview().route({ uid: '0', resourceVersion: '1' }) as Properties;
    const service = () => preview().service as Properties;
    const noted = (id: keyof typeof ANNOTATIONS, value: string | undefined) => (object: Properties) =>
      patch(object, 'metadata', (metadata) =>
        patch(metadata, 'annotations', (notes) => ({ ...notes, [ANNOTATIONS[id]]: value })),
      );
    const at = (path: string, value: unknown) => (object: Properties) => withValueAt(object, path, value);
    const rule = (change: (rule: Properties) => Properties) => (object: Properties) => {
      const { spec } = object as { spec: { rules: Properties[] } };
      return at('spec.rules', spec.rules.map(change))(object);
    };
    const parent = (more: Properties) => (object: Properties) => {
      const { spec } = object as { spec: { parentRefs: Properties[] } };
      return at('spec.parentRefs', [{ ...spec.parentRefs[0], ...more }])(object);
    };
    const backend = (more: Properties) =>
      rule((each) => ({ ...each, backendRefs: [{ name: NAME, port: 80, ...more }] }));
    const unlabelled = (object: Properties) =>
      patch(object, 'metadata', (metadata) => withValueAt(metadata, 'labels', undefined));

    test('accepts the preview that the constructs make', async () => {
      expect(await refusal(FUNCTIONS, 'create', service())).toBeUndefined();
      expect(await refusal(FUNCTIONS, 'create', route())).toBeUndefined();
    });

    test.each<[string, (object: Properties) => Properties, string]>([
      ['a host of another zone', at('spec.hostnames', ['swift-preview.evil.test']), 'foreign hostname'],
      [
        'a host below the zone by another label',
        at('spec.hostnames', [`a.b-preview.${ZONE}`]),
        'foreign hostname',
      ],
      [
        'a host of the zone that is no preview',
        at('spec.hostnames', [`console.${ZONE}`]),
        'foreign hostname',
      ],
      ['a wildcard host', at('spec.hostnames', [`*.${ZONE}`]), 'foreign hostname'],
      ['a second host', at('spec.hostnames', [HOST, 'evil.test']), 'foreign hostname'],
      ['no host, which would take every one', at('spec.hostnames', undefined), 'foreign hostname'],
      ['another Gateway', parent({ name: 'other' }), 'another parent'],
      ['a Gateway of another namespace', parent({ namespace: 'default' }), 'another parent'],
      ['the listener of the API', parent({ sectionName: 'api' }), 'another parent'],
      ['a parent that is no Gateway', parent({ kind: 'Service', group: '' }), 'another parent'],
      ['no parent', at('spec.parentRefs', []), 'another parent'],
      ['a port below the range', noted('targetPort', '2999'), 'port out of range'],
      ['a port above the range', noted('targetPort', '9001'), 'port out of range'],
      ['a port that is no number', noted('targetPort', '3000; --'), 'port out of range'],
      ['no port', noted('targetPort', undefined), 'port out of range'],
      ['an expiry past max-until', noted('expiresAt', '2999-01-01T00:00:00Z'), 'expiry past max-until'],
      ['an expiry that cannot be read', noted('expiresAt', 'never'), 'unreadable times'],
      ['no expiry', noted('expiresAt', undefined), 'unreadable times'],
      ['a time that is in no calendar', noted('expiresAt', '2026-13-41T00:00:00Z'), 'expression'],
      [
        'a max-until past the longest life',
        noted('maxUntil', '2999-01-01T00:00:00Z'),
        'max-until past the longest life of 8 hours',
      ],
      ['the Service of another preview', backend({ name: 'porthole' }), 'foreign backend'],
      ['a Service of another namespace', backend({ namespace: NAMESPACES.functions }), 'foreign backend'],
      ['a backend that is no Service', backend({ group: 'evil.test', kind: 'Bucket' }), 'foreign backend'],
      ['another port of the Service', backend({ port: 81 }), 'foreign backend'],
      [
        'a mirror of the traffic',
        rule((each) => ({
          ...each,
          filters: [{ type: 'RequestMirror', requestMirror: { backendRef: { name: NAME, port: 80 } } }],
        })),
        'foreign filter',
      ],
      [
        "a filter of the gateway's own",
        rule((each) => ({
          ...each,
          filters: [
            { type: 'ExtensionRef', extensionRef: { group: 'evil.test', kind: 'Plugin', name: 'tap' } },
          ],
        })),
        'foreign filter',
      ],
      ['a route without the label of a preview', unlabelled, 'not a preview'],
    ])('refuses the functions %s', async (_, spoil, reason) => {
      expect(await refusal(FUNCTIONS, 'create', spoil(route()))).toContain(reason);
    });

    test('refuses a bad preview to everybody, whoever labels it as one', async () => {
      const bad = at('spec.hostnames', ['swift-preview.evil.test'])(route());
      expect(await refusal('somebody', 'create', bad)).toBeDefined();
      const args = ['create', '--dry-run=server', '--filename=-'];
      expect(await outcome(args, JSON.stringify(bad))).toContain('foreign hostname');
    });

    test('leaves the routes of others alone', async () => {
      const theirs = unlabelled(at('spec.hostnames', ['shop.example.com'])(route()));
      expect(
        await outcome(['create', '--dry-run=server', '--filename=-'], JSON.stringify(theirs)),
      ).toBeUndefined();
    });

    test.each<[string, (object: Properties) => Properties, string]>([
      ['a Service on the node', at('spec.type', 'NodePort'), 'foreign type'],
      [
        'a name outside of the cluster',
        (object) => at('spec', { type: 'ExternalName', externalName: 'evil.test' })(object),
        'foreign type',
      ],
      ['an address outside of the cluster', at('spec.externalIPs', ['203.0.113.1']), 'foreign type'],
      ['the pods of another app', at('spec.selector', { app: 'database' }), 'foreign selector'],
      ['no selector, whose endpoints anybody may write', at('spec.selector', undefined), 'foreign selector'],
      ['a port out of range', at('spec.ports', [{ port: 80, targetPort: 22 }]), 'port out of range'],
      ['a port by name', at('spec.ports', [{ port: 80, targetPort: 'ssh' }]), 'port out of range'],
      [
        'a second port',
        at('spec.ports', [
          { name: 'a', port: 80, targetPort: 3000 },
          { name: 'b', port: 22, targetPort: 22 },
        ]),
        'port out of range',
      ],
      ['a Service without the label of a preview', unlabelled, 'not a preview'],
    ])('refuses the functions %s for a Service', async (_, spoil, reason) => {
      expect(await refusal(FUNCTIONS, 'create', spoil(at('spec.clusterIP', undefined)(service())))).toContain(
        reason,
      );
    });

    describe('of a standing preview', () => {
      const standing = 'preview-00000000000000000001';
      const target = [`httproute/${standing}`, `--namespace=${NAMESPACES.previews}`];
      const edit = (operation: string, ...args: string[]) =>
        outcome(['patch', `--as=${FUNCTIONS}`, '--type=merge', ...target, `--patch=${operation}`, ...args]);
      const note = (id: keyof typeof ANNOTATIONS, value: string) =>
        edit(JSON.stringify({ metadata: { annotations: { [ANNOTATIONS[id]]: value } } }));

      beforeAll(async () => {
        const standingPreview = preview(standing);
        const made = await bed.kubectl(
          ['create', `--as=${FUNCTIONS}`, '--filename=-', '--output=json'],
          JSON.stringify(standingPreview.service),
        );
        const { metadata } = JSON.parse(made) as { metadata: { uid: string; resourceVersion: string } };
        await bed.kubectl(
          ['create', `--as=${FUNCTIONS}`, '--filename=-'],
          JSON.stringify(standingPreview.route(metadata)),
        );
      });
      afterAll(async () => {
        await bed.kubectl(['delete', 'service', standing, `--namespace=${NAMESPACES.previews}`]);
      });

      test('accepts that its expiry moves, and no further than max-until', async () => {
        expect(await note('expiresAt', secondsFromNow(3_600).toISOString())).toBeUndefined();
        expect(await note('expiresAt', secondsFromNow(9 * 3_600).toISOString())).toContain(
          'expiry past max-until',
        );
      });

      test.each<[keyof typeof ANNOTATIONS, string]>([
        ['run', 'run_2'],
        ['owner', 'eve'],
        ['sandbox', 'other'],
        ['targetPort', '3001'],
        ['startedAt', '2026-01-01T00:00:00Z'],
        ['maxUntil', secondsFromNow(7 * 3_600).toISOString()],
      ])('refuses another %s', async (id, value) => {
        expect(await note(id, value)).toContain('changed identity');
      });

      test('refuses another host', async () => {
        const patched = JSON.stringify({ spec: { hostnames: [`other-preview.${ZONE}`] } });
        expect(await edit(patched)).toContain('changed identity');
      });

      test('refuses that its label goes, which would put it out of reach', async () => {
        expect(await edit(JSON.stringify({ metadata: { labels: { [LABELS.component]: null } } }))).toContain(
          'not a preview',
        );
      });

      test('refuses another selector for its Service', async () => {
        const patched = JSON.stringify({ spec: { selector: { [LABELS.sandbox]: 'other' } } });
        const args = ['patch', `--as=${FUNCTIONS}`, '--type=merge', 'service', standing];
        expect(
          await outcome([...args, `--namespace=${NAMESPACES.previews}`, `--patch=${patched}`]),
        ).toContain('changed identity');
      });
    });

    describe('of foreign objects', () => {
      const foreign = [
        {
          // Nothing is wrong with it but that Porthole did not make it.
          apiVersion: 'v1',
          kind: 'Service',
          spec: { selector: { [LABELS.sandbox]: 'theirs' }, ports: [{ port: 80, targetPort: 3000 }] },
        },
        {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
        },
        {
          apiVersion: 'gateway.networking.k8s.io/v1',
          kind: 'HTTPRoute',
          spec: { hostnames: ['shop.example.com'] },
        },
      ].map((object) => ({ ...object, metadata: { name: 'shop', namespace: NAMESPACES.previews } }));
      const within = `--namespace=${NAMESPACES.previews}`;

      beforeAll(async () => {
        await bed.kubectl(
          ['create', '--filename=-'],
          JSON.stringify({ apiVersion: 'v1', kind: 'List', items: foreign }),
        );
      });
      afterAll(async () => {
        await bed.kubectl(['delete', 'httproute/shop', 'service/shop', 'persistentvolumeclaim/shop', within]);
      });

      test.each([
        [FUNCTIONS, 'httproute'],
        [FUNCTIONS, 'service'],
        [FUNCTIONS, 'persistentvolumeclaim'],
        [REAPER, 'httproute'],
        [REAPER, 'service'],
      ])('refuses %s to delete a %s that Porthole did not make', async (user, kind) => {
        expect(await outcome(['delete', kind, 'shop', within, `--as=${user}`])).toContain('foreign object');
      });

      test('refuses the functions to take one over by a label', async () => {
        const patched = JSON.stringify({
          metadata: { labels: { [LABELS.managedBy]: 'porthole', [LABELS.component]: 'preview' } },
        });
        const args = [
          'patch',
          '--type=merge',
          'service',
          'shop',
          within,
          `--patch=${patched}`,
          `--as=${FUNCTIONS}`,
        ];
        expect(await outcome(args)).toContain('foreign object');
      });
    });

    describe('of sandboxes', () => {
      const pod = () =>
        sandboxPodManifests({ namespace: NAMESPACES.previews, sandboxId: 'abc', image: 'sandbox' })
          .pod as Properties;
      const container = (change: (container: Properties) => Properties) => (object: Properties) => {
        const { spec } = object as { spec: { containers: Properties[] } };
        return at('spec.containers', spec.containers.map(change))(object);
      };
      const volume = (source: Properties) => (object: Properties) => {
        const { spec } = object as { spec: { volumes: Properties[] } };
        return at('spec.volumes', [...spec.volumes, { name: 'loot', ...source }])(object);
      };

      // The namespace's own standard would refuse some of it first; one that stood already may have none.
      const standard = (value: string) =>
        bed.kubectl([
          'label',
          'namespace',
          NAMESPACES.previews,
          `pod-security.kubernetes.io/enforce${value}`,
        ]);
      beforeAll(() => standard('-'));
      afterAll(() => standard('=restricted'));

      test('accepts the pod that the constructs make', async () => {
        expect(await refusal(FUNCTIONS, 'create', pod())).toBeUndefined();
      });

      test.each<[string, (object: Properties) => Properties, string]>([
        ['a Secret', volume({ secret: { secretName: 'wildcard' } }), 'foreign volume'],
        ['a ConfigMap', volume({ configMap: { name: 'settings' } }), 'foreign volume'],
        [
          'a token of its own',
          volume({ projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }),
          'foreign volume',
        ],
        ['a service account', at('spec.serviceAccountName', 'builder'), 'service account'],
        ["the service account's token", at('spec.automountServiceAccountToken', true), 'service account'],
        [
          'a Secret in its environment',
          container((each) => ({ ...each, envFrom: [{ secretRef: { name: 'loot' } }] })),
          'foreign environment',
        ],
        [
          'a key of a Secret in its environment',
          container((each) => ({
            ...each,
            env: [{ name: 'LOOT', valueFrom: { secretKeyRef: { name: 'loot', key: 'a' } } }],
          })),
          'foreign environment',
        ],
        [
          'capabilities',
          container((each) => ({
            ...each,
            securityContext: {
              allowPrivilegeEscalation: false,
              capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] },
            },
          })),
          'privileged',
        ],
        [
          'escalation of privilege',
          container((each) => ({ ...each, securityContext: { capabilities: { drop: ['ALL'] } } })),
          'privileged',
        ],
        ['root', at('spec.securityContext', {}), 'privileged'],
        ['the network of its node', at('spec.hostNetwork', true), 'host namespace'],
        ['the memory of its node', at('spec.hostIPC', true), 'host namespace'],
        ['a path of its node', volume({ hostPath: { path: '/' } }), 'foreign volume'],
        ['no limits', container((each) => withValueAt(each, 'resources', undefined)), 'no limits'],
        ['a node of its choice', at('spec.nodeName', 'control-plane'), 'chosen node'],
        [
          'no label that closes its network',
          (object) => patch(object, 'metadata', (metadata) => withValueAt(metadata, 'labels', undefined)),
          'not a sandbox',
        ],
      ])('refuses the functions a pod with %s', async (_, spoil, reason) => {
        expect(await refusal(FUNCTIONS, 'create', spoil(pod()))).toContain(reason);
      });
    });
  });

  describe('with the token of their own account alone', () => {
    const token = (at: number) =>
      `swift-falcon-amber-${'abcdefghijklmnopqrstuvwxyz'.slice(at)}${'2'.repeat(at)}`;
    const spec = (at: number) => ({
      token: token(at),
      runId: 'run_1',
      owner: 'ann',
      sandboxId: 'abc',
      podName: 'sandbox-abc',
      targetPort: 3000 + at,
      startedAt: secondsFromNow(0),
      expiresAt: secondsFromNow(1_800),
      maxUntil: secondsFromNow(8 * 3_600),
    });

    /** What a function does, as this account. */
    async function as(account: string) {
      const secret = await bed.kubectl(['create', 'token', account, `--namespace=${NAMESPACES.functions}`]);
      const { server, ca } = await readKubeconfig(bed.kubeconfig);
      const client = createKubernetesClient({ access: { server, ca, token: async () => secret.trim() } });
      const plane = createKubernetesPlane({
        client,
        preview: {
          enabled: true,
          zoneSuffix: ZONE,
          gatewayName: 'agentweaver-preview-gateway',
          gatewayNamespace: NAMESPACES.gateway,
          namespace: NAMESPACES.previews,
          idleTimeoutMinutes: 30,
          maxLifetimeHours: 8,
          keepAfterRun: true,
          allowedPortMin: 3000,
          allowedPortMax: 9000,
          autoApprove: false,
          maxPerRun: 3,
          maxTotal: 3,
          readyTimeoutSeconds: 10,
        },
        clock: systemClock,
        provider: { dial: () => Promise.reject(new Error('nothing is dialled here')) },
        probe: undefined,
        listener: 'previews',
        publicPort: bed.gateway.https.port,
      });
      return { client, plane };
    }

    test('functions take previews through their lives, within every bound, and the reaper ends them', async () => {
      const functions = await as('porthole');
      const reaper = await as('porthole-reaper');
      try {
        const { plane } = functions;
        const opened = await plane.open(spec(0));
        expect(opened.created).toBe(true);
        expect((await plane.open(spec(0))).created).toBe(false);

        const kept = await plane.touch(token(0), 'run_1', secondsFromNow(3_600));
        expect(kept?.expiresAt?.getTime()).toBeGreaterThan(opened.preview.expiresAt?.getTime() ?? 0);
        // The admission policy refuses an expiry past the end; the preview gets that end instead.
        const last = await plane.touch(token(0), 'run_1', secondsFromNow(9 * 3_600));
        const end = opened.preview.maxUntil?.getTime() ?? 0;
        const granted = last?.expiresAt?.getTime() ?? 0;
        // Age counts from when the API server made it, which it notes in whole seconds.
        expect(granted).toBeGreaterThan(end - 1_000);
        expect(granted).toBeLessThanOrEqual(end);
        expect(await plane.touch(token(0), 'run_2', secondsFromNow(3_600))).toBeUndefined();

        await plane.open(spec(1));
        await plane.open(spec(2));
        await expect(plane.open(spec(3))).rejects.toMatchObject({ code: 'too_many_previews' });

        expect(await plane.close(opened.preview)).toBe(true);
        expect(await plane.find(token(0))).toBeUndefined();

        const left: string[] = [];
        for await (const each of reaper.plane.list()) {
          left.push(each.token);
          expect(await reaper.plane.close(each, { version: each.version })).toBe(true);
        }
        expect(left.toSorted()).toEqual([token(1), token(2)].toSorted());
        expect(await reaper.plane.sweep(new Date())).toBe(0);
        for (const kind of [HTTP_ROUTES, SERVICES]) {
          const found = functions.client.list(collection(kind, NAMESPACES.previews), {
            labelSelector: LABELS.run,
          });
          for await (const { metadata } of found) throw new Error(`${metadata.name} was left`);
        }
      } finally {
        functions.client.close();
        reaper.client.close();
      }
    });
  });

  test('the quota refuses the route past the cap on all previews, with a 403', async () => {
    const made = async (at: number) => {
      const manifests = previewManifests({
        name: `preview-cap-${at}`,
        namespace: NAMESPACES.previews,
        gateway: { name: 'agentweaver-preview-gateway', namespace: NAMESPACES.gateway },
        hostname: `cap-${at}-preview.${ZONE}`,
        targetPort: 3000,
        runId: `run_${at}`,
        owner: 'ann',
        sandboxId: 'abc',
        podName: 'sandbox-abc',
        startedAt: secondsFromNow(0),
        expiresAt: secondsFromNow(600),
        maxUntil: secondsFromNow(600),
        attempt: 'one',
      });
      const stored = await bed.kubectl(
        ['create', `--as=${FUNCTIONS}`, '--filename=-', '--output=json'],
        JSON.stringify(manifests.service),
      );
      const { metadata } = JSON.parse(stored) as { metadata: { uid: string; resourceVersion: string } };
      return outcome(
        ['create', `--as=${FUNCTIONS}`, '--filename=-'],
        JSON.stringify(manifests.route(metadata)),
      );
    };
    // The quota hears of what earlier suites deleted a little later.
    const used = String.raw`jsonpath={.status.used.count/httproutes\.gateway\.networking\.k8s\.io}=0`;
    await bed.kubectl([
      'wait',
      `--for=${used}`,
      'quota/porthole-previews',
      `--namespace=${NAMESPACES.previews}`,
      '--timeout=60s',
    ]);
    expect([await made(1), await made(2), await made(3)]).toEqual([undefined, undefined, undefined]);
    const refused = await made(4);
    expect(refused).toContain('(Forbidden)');
    expect(refused).toContain('exceeded quota: porthole-previews');
  });

  test(
    'destroy leaves nothing',
    async () => {
      await stack.destroy();
      const of = ['--all-namespaces', '--selector=app.kubernetes.io/part-of=porthole', '--output=name'];
      const kinds =
        'validatingadmissionpolicies,validatingadmissionpolicybindings,namespaces,gateways,httproutes';
      const left = (await bed.kubectl(['get', kinds, ...of]))
        .split('\n')
        .filter((name) => name.includes('up-'));
      expect(left).toEqual([]);
      for (const namespace of [NAMESPACES.previews, NAMESPACES.functions]) {
        expect(await outcome(['get', 'namespace', namespace])).toContain('NotFound');
      }
      const inGateway = await bed.kubectl([
        'get',
        'gateways,httproutes,secrets',
        `--namespace=${NAMESPACES.gateway}`,
        '--output=name',
      ]);
      expect(inGateway.trim()).toBe('secret/wildcard');
      expect(JSON.parse(stack.export())).toEqual([]);
    },
    PATIENT,
  );
});

function patch(object: Properties, key: string, change: (value: Properties) => Properties): Properties {
  const value = object[key];
  return { ...object, [key]: change(isRecord(value) ? value : {}) };
}
