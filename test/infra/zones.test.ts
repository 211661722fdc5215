import { describe, expect, test } from '@jest/globals';
import { readConfig } from '#host/config/config.ts';
import { previewRoutesPlan } from '../../infra/preview-routes.plan.ts';
import { environmentPlan, secretsPlan } from '../../infra/environment.plan.ts';
import { existingGatewayProblems, gatewayClassProblems, gatewayPlans } from '../../infra/gateway.plan.ts';
import { namespacesPlan } from '../../infra/namespaces.ts';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import { apiRoutePlan, fallbackRoutesPlan } from '../../infra/routes.ts';
import { zoneClaimsPlan } from '../../infra/zone-claims.plan.ts';
import { stackFile, values } from './support/stack-files.ts';

const config = (more: Readonly<Record<string, unknown>> = {}) =>
  readStackConfig(values(stackFile(more)), () => true);
const PODS = { podNamespace: 'traefik', podLabels: { app: 'traefik' } };
const SHARED = { name: 'shared', namespace: 'edge' };
const ACME = { zone: 'acme.test', orgs: ['acme'] };
const BETA = {
  zone: 'beta.test',
  orgs: ['beta', 'gamma'],
  gateway: { existing: { ...SHARED, sectionName: 'beta' } },
};
const withZones = (...zones: readonly object[]) => config({ 'porthole:zones': zones });

describe('several zones', () => {
  test('have a Gateway each, with its certificate, or that of others', () => {
    const [first, acme, beta] = gatewayPlans(withZones(ACME, BETA));
    expect(first?.made?.manifest.metadata.name).toBe('agentweaver-preview-gateway');
    expect(acme?.made?.manifest).toMatchObject({
      metadata: { name: 'porthole-zone', namespace: 'agentweaver' },
      spec: {
        gatewayClassName: 'traefik',
        listeners: [
          {
            hostname: '*.acme.test',
            tls: { certificateRefs: [{ group: '', kind: 'Secret', name: 'porthole-zone-tls' }] },
          },
        ],
      },
    });
    expect(acme?.made?.certificates.map(({ spec }) => spec.dnsNames)).toEqual([['*.acme.test']]);
    expect(beta).toEqual({ zone: 'beta.test', existing: { ...SHARED, sectionName: 'beta' } });
  });

  test('have a wildcard route each, behind the previews of their Gateway', () => {
    const routes = fallbackRoutesPlan(withZones(ACME, BETA)).map(({ metadata, spec }) => [
      metadata.name,
      spec.hostnames,
      spec.parentRefs,
    ]);
    const parent = (name: string, namespace: string, sectionName: string) => [
      { group: 'gateway.networking.k8s.io', kind: 'Gateway', name, namespace, sectionName },
    ];
    expect(routes).toEqual([
      [
        'porthole-fallback',
        ['*.preview.test'],
        parent('agentweaver-preview-gateway', 'agentweaver', 'previews'),
      ],
      ['porthole-fallback.acme.test', ['*.acme.test'], parent('porthole-zone', 'agentweaver', 'previews')],
      ['porthole-fallback.beta.test', ['*.beta.test'], parent('shared', 'edge', 'beta')],
    ]);
  });

  test('reach the functions as a variable that the functions accept', () => {
    const given = withZones(ACME, BETA);
    expect(readConfig({ ...environmentPlan(given), ...secretsPlan(given) }).preview.zones).toEqual([
      {
        zone: 'acme.test',
        orgs: ['acme'],
        gateway: { name: 'porthole-zone', namespace: 'agentweaver', sectionName: 'previews' },
      },
      { zone: 'beta.test', orgs: ['beta', 'gamma'], gateway: { ...SHARED, sectionName: 'beta' } },
    ]);
    expect(environmentPlan(config())).not.toHaveProperty('PORTHOLE_ZONES');
    const limited = environmentPlan(withZones({ ...ACME, access: 'owner', maxAccess: 'org' }));
    expect(readConfig({ ...limited, ...secretsPlan(given) }).preview.zones).toMatchObject([
      { zone: 'acme.test', access: 'owner', maxAccess: 'org' },
    ]);
  });

  test('bind each host of a preview to the Gateway of its zone', () => {
    const { validations } = previewRoutesPlan(withZones(BETA)).spec;
    const parents = validations.find(({ message }) => message.startsWith('another parent'));
    expect(parents?.message).toBe(
      'another parent: a preview hangs on agentweaver/agentweaver-preview-gateway, listener previews, or edge/shared, listener beta, alone',
    );
    expect(parents?.expression).toContain(`endsWith('-preview.beta.test') && p.?group`);
  });

  test('are claimed, each by its name in the cluster', () => {
    expect(zoneClaimsPlan(withZones(ACME)).map(({ metadata }) => metadata)).toMatchObject([
      {
        name: 'porthole-zone:preview.test',
        labels: { 'porthole.sandbox.users.io/installation': 'porthole' },
      },
      { name: 'porthole-zone:acme.test' },
    ]);
  });

  test.each<[string, readonly object[], string]>([
    ['a zone in another', [{ ...ACME, zone: 'x.preview.test' }], 'x.preview.test lies in preview.test'],
    ['a zone twice', [ACME, { ...BETA, zone: 'acme.test' }], 'acme.test lies in acme.test'],
    ['an org with two zones', [ACME, { ...BETA, orgs: ['acme'] }], 'the org acme has more than one zone'],
    ['a zone of no org', [{ ...ACME, orgs: [] }], 'zones.0.orgs: must name an org'],
    [
      "the API's host in a zone",
      [{ ...ACME, zone: 'example.com' }],
      'zones.0.zone: porthole.example.com lies in it',
    ],
    [
      'two Gateways of one name',
      [ACME, { zone: 'beta.test', orgs: ['beta'] }],
      'zones: the Gateway porthole-zone is created twice',
    ],
    [
      'an existing Gateway without a listener',
      [{ ...ACME, gateway: { existing: SHARED } }],
      'zones.0.gateway.existing.sectionName: is required',
    ],
    [
      'a class beside an existing Gateway',
      [{ ...BETA, gateway: { ...BETA.gateway, className: 'traefik' } }],
      'zones.0.gateway.className: is not used',
    ],
  ])('refuse %s', (_, zones, problem) => {
    expect(() => withZones(...zones)).toThrow(problem);
  });
});

describe('a ListenerSet', () => {
  const attached = (kind: string) =>
    config({ 'porthole:gateway': { ...PODS, existing: SHARED, listenerSet: kind } });

  test.each([
    ['ListenerSet', 'gateway.networking.k8s.io', 'v1'],
    ['XListenerSet', 'gateway.networking.x-k8s.io', 'v1alpha1'],
  ])('adds the listeners to the Gateway of others with kind %s', (kind, group, version) => {
    const given = attached(kind);
    const [plan] = gatewayPlans(given);
    expect(plan?.made?.manifest).toMatchObject({
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name: 'agentweaver-preview-gateway', namespace: 'porthole' },
      spec: {
        parentRef: SHARED,
        listeners: [{ name: 'previews' }, { name: 'api', hostname: 'porthole.example.com' }],
      },
    });
    expect(plan?.made?.certificates.map(({ metadata }) => metadata.namespace)).toEqual([
      'porthole',
      'porthole',
    ]);
    expect(apiRoutePlan(given).spec.parentRefs).toEqual([
      { group, kind, name: 'agentweaver-preview-gateway', namespace: 'porthole', sectionName: 'api' },
    ]);
    expect(environmentPlan(given)).toMatchObject({ PORTHOLE_GATEWAY_KIND: kind });
    expect(namespacesPlan(given).map(({ metadata }) => metadata.name)).toEqual(['agentweaver', 'porthole']);
  });

  test('needs the Gateway that it is attached to', () => {
    const gateway = { ...PODS, className: 'traefik', listenerSet: 'ListenerSet' };
    expect(() => config({ 'porthole:gateway': gateway })).toThrow(
      'gateway.listenerSet: needs gateway.existing',
    );
  });
});

describe('a Gateway of others', () => {
  const condition = (status: string) => ({ conditions: [{ type: 'Programmed', status }] });

  test('is accepted if it is programmed and has the listeners', () => {
    const gateway = { spec: { listeners: [{ name: 'previews' }] }, status: condition('True') };
    expect(existingGatewayProblems(gateway, ['previews', undefined])).toEqual([]);
  });

  test('is named with all that it lacks', () => {
    const gateway = { spec: { listeners: [{ name: 'web' }] }, status: condition('False') };
    expect(existingGatewayProblems(gateway, ['previews', 'api'])).toEqual([
      'is not programmed: see its conditions, and the log of its controller',
      'has no listener previews; it has web',
      'has no listener api; it has web',
    ]);
  });

  test.each([
    [undefined, ['allows no ListenerSet: set spec.allowedListeners.namespaces']],
    ['None', ['allows no ListenerSet: set spec.allowedListeners.namespaces']],
    ['Selector', []],
  ])('must allow a ListenerSet: %s', (from, problems) => {
    const allowedListeners = from === undefined ? {} : { allowedListeners: { namespaces: { from } } };
    const gateway = { spec: { listeners: [], ...allowedListeners }, status: condition('True') };
    expect(existingGatewayProblems(gateway, [undefined], 'ListenerSet')).toEqual(problems);
    expect(existingGatewayProblems(gateway, [undefined])).toEqual([]);
  });

  test('has a class with the features that previews need', () => {
    const features = (...names: string[]) => ({ supportedFeatures: names.map((name) => ({ name })) });
    expect(gatewayClassProblems(features('HTTPRoute'))).toEqual([
      'does not support HTTPRouteResponseHeaderModification: use a controller that does',
    ]);
    expect(gatewayClassProblems(features('HTTPRoute', 'HTTPRouteResponseHeaderModification'))).toEqual([]);
    expect([gatewayClassProblems(), gatewayClassProblems({})]).toEqual([[], []]);
  });

  test('is not checked before the cluster has reported it', () => {
    expect(existingGatewayProblems({}, ['previews'], 'ListenerSet')).toEqual([]);
  });
});
