import { describe, expect, test } from '@jest/globals';
import { accessPlan } from '../../infra/access.ts';
import { ROUTE_RESPONSE_HEADERS } from '#constructs/names.ts';
import { admissionPlan, bindingPlan } from '../../infra/admission.ts';
import { environmentPlan } from '../../infra/environment.plan.ts';
import { deploymentPlan, servicePlan } from '../../infra/functions.ts';
import { gatewayPlans } from '../../infra/gateway.plan.ts';
import { namespacesPlan } from '../../infra/namespaces.ts';
import { quotaPlan, sandboxQuotaPlan } from '../../infra/quota.ts';
import { reaperPlan } from '../../infra/scheduled-jobs.ts';
import { apiRoutePlan, fallbackRoutesPlan } from '../../infra/routes.ts';
import { templatesPlan } from '../../infra/sandboxes.plan.ts';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import type { StackConfig } from '../../infra/stack-config-schema.ts';
import { stackFile, values } from './support/stack-files.ts';

const config = (more: Readonly<Record<string, unknown>> = {}) =>
  readStackConfig(values(stackFile(more)), () => true);

describe('namespaces', () => {
  test('are created once each, except those that exist already', () => {
    const names = (more = {}) => namespacesPlan(config(more)).map(({ metadata }) => metadata.name);
    expect(names()).toEqual(['agentweaver', 'porthole']);
    expect(names({ 'porthole:namespaces': { existing: ['agentweaver'] } })).toEqual(['porthole']);
    expect(names({ 'porthole:namespaces': { gateway: 'edge' } })).toEqual([
      'agentweaver',
      'edge',
      'porthole',
    ]);
  });

  test("hold pods to the restricted standard, but where a gateway's own pods may run", () => {
    const enforced = namespacesPlan(config({ 'porthole:namespaces': { gateway: 'edge' } })).map(
      ({ metadata }) => (metadata.labels as Record<string, string>)['pod-security.kubernetes.io/enforce'],
    );
    expect(enforced).toEqual(['restricted', undefined, 'restricted']);
  });
});

/** What the stack makes for its first zone. */
function madeOf(given: StackConfig) {
  const made = gatewayPlans(given)[0]?.made;
  if (made === undefined) throw new Error('the stack makes no Gateway');
  return made;
}
const manifestOf = (given: StackConfig) => madeOf(given).manifest;
const certificatesOf = (given: StackConfig) => madeOf(given).certificates;

describe('the gateway', () => {
  test('has a wildcard HTTPS listener for previews and one for the API, each open to our own routes alone', () => {
    const { metadata, spec } = manifestOf(config());
    expect(metadata).toMatchObject({ name: 'agentweaver-preview-gateway', namespace: 'agentweaver' });
    const from = (names: readonly string[]) => ({
      kinds: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute' }],
      namespaces: {
        from: 'Selector',
        selector: {
          matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: names }],
        },
      },
    });
    const tls = (name: string) => ({
      mode: 'Terminate',
      certificateRefs: [{ group: '', kind: 'Secret', name }],
    });
    expect(spec).toEqual({
      gatewayClassName: 'traefik',
      listeners: [
        {
          name: 'previews',
          hostname: '*.preview.test',
          port: 443,
          protocol: 'HTTPS',
          tls: tls('porthole-preview-tls'),
          allowedRoutes: from(['agentweaver', 'porthole']),
        },
        {
          name: 'api',
          hostname: 'porthole.example.com',
          port: 443,
          protocol: 'HTTPS',
          tls: tls('porthole-api-tls'),
          allowedRoutes: from(['porthole']),
        },
      ],
    });
  });

  test('listens where its controller does, apart from the port that people use', () => {
    const given = config({
      'porthole:gateway': {
        className: 'traefik',
        podNamespace: 'traefik',
        podLabels: { app: 'traefik' },
        listenerPort: 8443,
      },
    });
    expect(manifestOf(given).spec.listeners.map(({ port }) => port)).toEqual([8443, 8443]);
    expect(environmentPlan(given)).toMatchObject({
      PORTHOLE_PUBLIC_URL: 'https://porthole.example.com',
      PORTHOLE_GATEWAY_PORT: '443',
    });
  });

  test('takes its certificates from an issuer, one for each Secret', () => {
    const names = (certificates: object) =>
      certificatesOf(config({ 'porthole:certificates': certificates })).map(({ spec }) => [
        spec.secretName,
        spec.dnsNames,
      ]);
    const issuer = { name: 'letsencrypt' };
    expect(names({ issuer })).toEqual([
      ['porthole-preview-tls', ['*.preview.test']],
      ['porthole-api-tls', ['porthole.example.com']],
    ]);
    expect(names({ issuer, previewSecret: 'tls', apiSecret: 'tls' })).toEqual([
      ['tls', ['*.preview.test', 'porthole.example.com']],
    ]);
  });

  test('takes existing Secrets as they are', () => {
    const given = config({
      'porthole:certificates': {},
      'porthole:namespaces': { existing: ['agentweaver'] },
    });
    expect(certificatesOf(given)).toEqual([]);
  });
});

describe('the fixed routes', () => {
  const BACKEND = { group: '', kind: 'Service', name: 'porthole', port: 80, weight: 1 };

  test('lead the API and every unclaimed host of the zone to the functions, each on its own listener', () => {
    const read = ({ spec }: ReturnType<typeof apiRoutePlan>) => [
      spec.hostnames,
      spec.parentRefs[0]?.sectionName,
      spec.rules[0]?.backendRefs,
    ];
    expect(read(apiRoutePlan(config()))).toEqual([['porthole.example.com'], 'api', [BACKEND]]);
    expect(fallbackRoutesPlan(config()).map(read)).toEqual([[['*.preview.test'], 'previews', [BACKEND]]]);
  });

  test('answer for an unclaimed host with the headers that the route of a preview sets', () => {
    const set = Object.entries(ROUTE_RESPONSE_HEADERS).map(([name, value]) => ({ name, value }));
    expect(fallbackRoutesPlan(config()).map(({ spec }) => spec.rules[0]?.filters)).toEqual([
      [{ type: 'ResponseHeaderModifier', responseHeaderModifier: { set } }],
    ]);
  });

  test('do not end what takes long: an approval is waited for, a terminal stays open', () => {
    for (const route of [apiRoutePlan(config()), ...fallbackRoutesPlan(config())]) {
      expect(route.spec.rules[0]?.timeouts).toEqual({ request: '0s' });
    }
  });
});

describe('the global cap', () => {
  const hard = (more: Readonly<Record<string, unknown>>) => quotaPlan(config(more)).spec.hard;

  test.each([
    ['counts previews alone while the fixed routes stand elsewhere', {}, '20'],
    ['counts the fixed routes in where they share the namespace', { functions: 'agentweaver' }, '22'],
  ])('%s', (_, namespaces, routes) => {
    expect(hard({ 'porthole:namespaces': namespaces })).toEqual({
      'count/httproutes.gateway.networking.k8s.io': routes,
    });
  });

  test('leaves room for the routes of others', () => {
    const sandboxes = { image: 'sandbox@sha256:1', otherRoutes: 3 };
    expect(hard({ 'porthole:sandboxes': sandboxes, 'porthole:preview': { maxTotal: 5 } })).toEqual({
      'count/httproutes.gateway.networking.k8s.io': '8',
    });
  });
});

describe('the cap on sandboxes', () => {
  const pool = {
    templates: { node: { image: 'node' } },
    warmPools: { ready: { template: 'node', replicas: 3 } },
  };
  const claims = 'count/sandboxclaims.extensions.agents.x-k8s.io';

  test.each<[string, object, object]>([
    [
      'counts pods and volumes where the functions make them, and leaves room for those of others',
      { image: 'node', maxTotal: 7, otherPods: 2 },
      { 'count/pods': '9', 'count/persistentvolumeclaims': '9' },
    ],
    ['counts claims where the functions make no pods', { ...pool, maxTotal: 7 }, { [claims]: '7' }],
    [
      'leaves room for what waits in pools where both may be made',
      { ...pool, image: 'node', provider: 'auto' },
      { 'count/pods': '103', 'count/persistentvolumeclaims': '103', [claims]: '100' },
    ],
  ])('%s', (_, sandboxes, hard) => {
    const own = sandboxQuotaPlan(
      config({ 'porthole:sandboxes': sandboxes, 'porthole:namespaces': { functions: 'agentweaver' } }),
    ).spec.hard as Readonly<Record<string, string>>;
    const pods = (hard as Readonly<Record<string, string>>)['count/pods'];
    // Two of each of 10 replicas, and five pods of each job.
    expect(own['count/pods']).toBe(pods === undefined ? undefined : String(Number(pods) + 40));
    expect(sandboxQuotaPlan(config({ 'porthole:sandboxes': sandboxes })).spec.hard).toEqual(hard);
  });
});

describe('the channel of sandboxes', () => {
  const ports = (given: ReturnType<typeof config>) => [
    deploymentPlan(given).spec.template.spec.containers[0]?.ports.map(({ name }) => name),
    servicePlan(given).spec.ports.map(({ port }) => port),
    environmentPlan(given)['PORTHOLE_CHANNEL_URL'],
    environmentPlan(given)['PORTHOLE_CHANNEL_PORT'],
  ];

  test('is a separate port of the functions and their Service', () => {
    expect(ports(config())).toEqual([
      ['http', 'channel'],
      [80, 8788],
      'http://porthole.porthole.svc:8788',
      '8788',
    ]);
  });

  test('is not there where the stack does not want it', () => {
    const given = config({ 'porthole:sandboxes': { image: 'node', channel: false } });
    expect(ports(given)).toEqual([['http'], [80], undefined, undefined]);
  });
});

describe('images of a registry that asks who is there', () => {
  test('are pulled with the Secrets that the stack names', () => {
    const given = config({
      'porthole:functions': { image: 'x', pullSecret: 'for-functions' },
      'porthole:sandboxes': {
        pullSecret: 'for-sandboxes',
        templates: { node: { image: 'node' } },
        warmPools: { ready: { template: 'node' } },
      },
    });
    const pods = [
      deploymentPlan(given).spec.template.spec,
      reaperPlan(given).spec.jobTemplate.spec.template.spec,
      templatesPlan(given)[0]?.spec.podTemplate.spec,
    ] as { imagePullSecrets?: object[] }[];
    expect(pods.map(({ imagePullSecrets }) => imagePullSecrets)).toEqual([
      [{ name: 'for-functions' }],
      [{ name: 'for-functions' }],
      [{ name: 'for-sandboxes' }],
    ]);
    expect(deploymentPlan(config()).spec.template.spec).not.toHaveProperty('imagePullSecrets');
  });
});

describe('the admission of previews', () => {
  const messages = (upstream: 'guest' | 'direct', id: 'preview-routes' | 'preview-services') =>
    admissionPlan(config({ 'porthole:preview': { upstream } }))[id].spec.validations;

  test('knows no route and no Service by way of the guest where the stack has none', () => {
    const all = [...messages('direct', 'preview-routes'), ...messages('direct', 'preview-services')];
    expect(JSON.stringify(all)).not.toMatch(/X-Porthole-Port|2791/);
  });

  test('lets Services lead to the guest, and one rule set its own port for it', () => {
    const [port] = messages('guest', 'preview-services').filter(({ message }) => message.includes('2791'));
    expect(port?.expression).toContain('int(p.targetPort) == 2791 || (int(p.targetPort) >= 3000');
    const rule = messages('guest', 'preview-routes').find(({ message }) =>
      message.includes('X-Porthole-Port'),
    );
    expect(rule?.expression).toContain(
      "h.name == 'X-Porthole-Port' && h.value == variables.notes[?'porthole.sandbox.users.io/target-port'].orValue('')",
    );
  });
});

describe('the admission of pods', () => {
  const pods = (sandboxes: object) => {
    const given = config({ 'porthole:sandboxes': { image: 'x', ...sandboxes } });
    const plan = admissionPlan(given)['sandbox-pods'];
    const isolation = plan.spec.validations.find(({ message }) => message.startsWith('other isolation'));
    return { plan, isolation, binding: bindingPlan(plan, given) };
  };

  test('allows no RuntimeClass and no user namespace where the stack says nothing of them', () => {
    const { plan, isolation, binding } = pods({});
    expect(isolation?.expression).toBe(
      "object.spec.?runtimeClassName.orValue('') == '' && object.spec.?hostUsers.orValue(true) == true",
    );
    expect(plan.spec).not.toHaveProperty('paramKind');
    expect(binding.spec).not.toHaveProperty('paramRef');
  });

  test('demands those of the stack, and reads from the RuntimeClass what that copies to pods', () => {
    const { plan, isolation, binding } = pods({ runtimeClassName: 'gvisor', hostUsers: false });
    expect(isolation?.expression).toBe(
      "object.spec.?runtimeClassName.orValue('') == 'gvisor' && object.spec.?hostUsers.orValue(true) == false",
    );
    expect(plan.spec.paramKind).toEqual({ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass' });
    expect(binding.spec.paramRef).toEqual({ name: 'gvisor', parameterNotFoundAction: 'Deny' });
  });
});

describe('access', () => {
  test('grants no wildcard, no Secret, and nothing outside of the previews’ namespace', () => {
    for (const { role, binding } of accessPlan(config())) {
      expect(role.metadata.namespace).toBe('agentweaver');
      expect(binding.roleRef.kind).toBe('Role');
      const words = role.rules.flatMap(({ apiGroups, resources, verbs }) => [
        ...apiGroups,
        ...resources,
        ...verbs,
      ]);
      for (const word of [
        '*',
        'secrets',
        'configmaps',
        'serviceaccounts/token',
        'escalate',
        'bind',
        'impersonate',
      ])
        expect(words).not.toContain(word);
    }
  });
});
