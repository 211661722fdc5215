import { expect, test } from '@jest/globals';
import { App, Chart } from 'cdk8s';
import type { PreviewGatewayProps } from '#constructs/gateway-manifests.ts';
import { PreviewGateway } from '#constructs/preview-gateway-construct.ts';
import { Preview } from '#constructs/preview-objects.ts';

const PROPS: PreviewGatewayProps = {
  name: 'edge',
  namespace: 'gateways',
  className: 'traefik',
  zone: 'previews.example.net',
  routesFrom: ['hello'],
};
const chart = () => new Chart(new App(), 'chart', { disableResourceNameHashes: true });
const gateway = (more: Partial<PreviewGatewayProps> = {}) =>
  new PreviewGateway(chart(), 'gateway', { ...PROPS, ...more });

test('listens on every host of the zone, for routes of the given namespaces only', () => {
  const { gateway: made, certificates } = gateway();
  expect(made.toJson()).toEqual({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'edge', namespace: 'gateways' },
    spec: {
      gatewayClassName: 'traefik',
      listeners: [
        {
          name: 'previews',
          hostname: '*.previews.example.net',
          port: 443,
          protocol: 'HTTPS',
          tls: {
            mode: 'Terminate',
            certificateRefs: [{ group: '', kind: 'Secret', name: 'porthole-preview-tls' }],
          },
          allowedRoutes: {
            kinds: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute' }],
            namespaces: {
              from: 'Selector',
              selector: {
                matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: ['hello'] }],
              },
            },
          },
        },
      ],
    },
  });
  expect(certificates).toEqual([]);
});

test('has a listener for the API and a certificate per Secret', () => {
  const api = { host: 'porthole.example.com', routesFrom: ['porthole'], secret: 'api-tls' };
  const issuer = { name: 'letsencrypt', kind: 'ClusterIssuer' } as const;
  const names = (more: Partial<PreviewGatewayProps>) =>
    gateway({ issuer, ...more }).certificates.map((each) => {
      const { spec } = each.toJson() as { spec: { secretName: string; dnsNames: string[] } };
      return [spec.secretName, spec.dnsNames];
    });
  expect(gateway({ api, port: 8443, annotations: { a: 'b' } }).gateway.toJson()).toMatchObject({
    metadata: { annotations: { a: 'b' } },
    spec: {
      listeners: [
        { name: 'previews', port: 8443 },
        { name: 'api', hostname: 'porthole.example.com', port: 8443 },
      ],
    },
  });
  expect(names({})).toEqual([['porthole-preview-tls', ['*.previews.example.net']]]);
  expect(names({ api })).toEqual([
    ['porthole-preview-tls', ['*.previews.example.net']],
    ['api-tls', ['porthole.example.com']],
  ]);
  expect(names({ api, secret: 'api-tls' })).toEqual([
    ['api-tls', ['*.previews.example.net', 'porthole.example.com']],
  ]);
});

test('is the parent Gateway of a preview', () => {
  const all = chart();
  const { route } = new Preview(all, 'preview', {
    name: 'preview-hello',
    namespace: 'hello',
    gateway: new PreviewGateway(all, 'gateway', PROPS),
    hostname: 'a-preview.previews.example.net',
    targetPort: 3000,
    runId: 'hello',
    owner: 'platform',
    sandboxId: 'hello',
    startedAt: new Date('2026-01-01'),
    expiresAt: new Date('2027-01-01'),
    maxUntil: new Date('2027-01-01'),
  });
  expect(route.toJson()).toMatchObject({
    spec: { parentRefs: [{ name: 'edge', namespace: 'gateways', sectionName: 'previews' }] },
  });
});

const api = { host: 'api.previews.example.net', routesFrom: ['porthole'], secret: 'tls' };
test.each<[string, Partial<PreviewGatewayProps>, string]>([
  ['a wildcard as its zone', { zone: '*.example.net' }, 'PreviewGateway.zone must be a lower-case DNS name'],
  ['an API in the zone', { api }, 'must not be in the zone previews.example.net'],
  ['no namespace', { routesFrom: [] }, 'PreviewGateway.routesFrom must name a namespace.'],
  ['port 0', { port: 0 }, 'PreviewGateway.port must be an integer between 1 and 65535, got 0.'],
])('rejects a gateway with %s', (_name, change, message) => {
  expect(() => gateway(change)).toThrow(message);
});
