import { rootCertificates } from 'node:tls';
import { expect, test } from '@jest/globals';
import { createGuestKeys, deriveKeySet } from '#protocol/guest/key-set.ts';
import { JwksSchema } from '#protocol/settings/shared-values.ts';
import { accessPlan } from '../../infra/access.ts';
import { browsersAccountPlan, browsersDeploymentPlan, browsersServicePlan } from '../../infra/browsers.ts';
import { environmentPlan } from '../../infra/environment.plan.ts';
import { browsersPlan } from '../../infra/network.ts';
import { budgetPlan } from '../../infra/pod.plan.ts';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import { DATABASE_URL, SERVICE_KEY, SIGNING_KEYS, stackFile, values } from './support/stack-files.ts';

const IMAGE = 'registry.example.com/browsers@sha256:89ab';

function config(browsers: object = {}, more: Readonly<Record<string, unknown>> = {}) {
  const file = stackFile({ 'porthole:browsers': { image: IMAGE, ...browsers }, ...more });
  const read = readStackConfig(values(file), () => true);
  if (read.browsers === undefined) throw new Error('no browsers');
  return { ...read, browsers: read.browsers };
}

const LABELS = {
  'app.kubernetes.io/part-of': 'porthole',
  'app.kubernetes.io/name': 'porthole',
  'app.kubernetes.io/component': 'browsers',
};

test('browsers run as a user without rights, on a root that cannot be written to', () => {
  const { metadata, spec } = browsersDeploymentPlan(config());
  expect(metadata).toMatchObject({ name: 'porthole-browsers', namespace: 'porthole' });
  const { template, replicas } = spec;
  expect([replicas, template.metadata.labels]).toEqual([2, LABELS]);
  expect(template.spec).toMatchObject({
    serviceAccountName: 'porthole-browsers',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        image: IMAGE,
        resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { memory: '3Gi' } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
        ports: [{ name: 'visits', containerPort: 8790 }],
        readinessProbe: { httpGet: { path: '/health', port: 'visits' } },
      },
    ],
    volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '2Gi' } }],
  });
});

test('browsers have no rights, no secret, and public keys alone', () => {
  const given = config();
  expect(browsersAccountPlan(given)).toMatchObject({
    metadata: { name: 'porthole-browsers', namespace: 'porthole' },
    automountServiceAccountToken: false,
  });
  expect(JSON.stringify(accessPlan(given))).not.toContain('porthole-browsers');
  const plan = JSON.stringify(browsersDeploymentPlan(given));
  for (const secret of [DATABASE_URL, SERVICE_KEY, 'c2lnbmluZy1rZXkt']) expect(plan).not.toContain(secret);
  expect(plan).not.toMatch(/secretRef|secretKeyRef|configMapRef/);
  const { publicKeys } = createGuestKeys(deriveKeySet(JwksSchema.parse(JSON.parse(SIGNING_KEYS))));
  const [container] = browsersDeploymentPlan(given).spec.template.spec.containers;
  expect(Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]))).toEqual({
    PORT: '8790',
    PORTHOLE_BROWSERS_KEYS: publicKeys,
    PORTHOLE_BROWSERS_PAGES: '4',
    PORTHOLE_BROWSERS_SANDBOX: 'false',
    LOG_LEVEL: 'info',
    HOME: '/tmp',
  });
});

test('browsers use their own sandbox under a profile that permits it, and only there', () => {
  const { spec } = browsersDeploymentPlan(config({ seccompProfile: 'profiles/chromium.json' })).spec.template;
  expect(spec.securityContext.seccompProfile).toEqual({
    type: 'Localhost',
    localhostProfile: 'profiles/chromium.json',
  });
  expect(spec.containers[0]?.env).toContainEqual({ name: 'PORTHOLE_BROWSERS_SANDBOX', value: 'true' });
});

test("browsers get the authority of the gateway's certificate", () => {
  const [ca = ''] = rootCertificates;
  const probe = { url: 'https://traefik.traefik.svc:8443', ca };
  const gateway = stackFile().config['porthole:gateway'] as object;
  const given = config({}, { 'porthole:gateway': { ...gateway, probe } });
  const { volumes, containers } = browsersDeploymentPlan(given).spec.template.spec;
  expect(volumes).toContainEqual({ name: 'authority', configMap: { name: 'porthole-browsers-authority' } });
  expect(containers[0]?.volumeMounts).toContainEqual({
    name: 'authority',
    mountPath: '/etc/porthole/gateway',
    readOnly: true,
  });
  expect(containers[0]?.env).toContainEqual({
    name: 'PORTHOLE_BROWSERS_AUTHORITIES',
    value: '/etc/porthole/gateway/ca.crt',
  });
});

test('browsers have memory for each page that they open at a time', () => {
  const [container] = browsersDeploymentPlan(config({ pages: 8 })).spec.template.spec.containers;
  expect(container?.resources.limits).toEqual({ memory: '5Gi' });
});

test('browsers are reached by the functions alone, and reach the gateway and DNS alone', () => {
  const podsOf = (namespace: string, matchLabels: object) => ({
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    podSelector: { matchLabels },
  });
  const plan = browsersPlan(config({ egress: ['203.0.113.7/32'] }));
  expect(plan?.metadata).toMatchObject({ name: 'porthole-browsers', namespace: 'porthole' });
  expect(plan?.spec).toEqual({
    podSelector: { matchLabels: LABELS },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [
      {
        from: [podsOf('porthole', { ...LABELS, 'app.kubernetes.io/component': 'functions' })],
        ports: [{ protocol: 'TCP', port: 8790 }],
      },
    ],
    egress: [
      {
        to: [podsOf('traefik', { app: 'traefik' })],
        // The second is that of Envoy Gateway's pods.
        ports: [443, 10_443].map((port) => ({ protocol: 'TCP', port })),
      },
      {
        to: [{ ipBlock: { cidr: '203.0.113.7/32' } }],
        ports: [{ protocol: 'TCP', port: 443 }],
      },
      {
        to: [podsOf('kube-system', { 'k8s-app': 'kube-dns' })],
        ports: [
          { protocol: 'UDP', port: 53 },
          { protocol: 'TCP', port: 53 },
        ],
      },
    ],
  });
  expect(browsersPlan(config())?.spec.egress).toHaveLength(2);
  expect(browsersPlan(readStackConfig(values(stackFile()), () => true))).toBeUndefined();
});

test('the functions call the Service of the browsers', () => {
  const given = config();
  expect(environmentPlan(given)['PORTHOLE_BROWSERS_URL']).toBe('http://porthole-browsers.porthole.svc:8790');
  expect(browsersServicePlan(given).spec).toMatchObject({
    selector: LABELS,
    ports: [{ port: 8790, targetPort: 'visits' }],
  });
  expect(budgetPlan({}, 'browsers').spec).toEqual({ maxUnavailable: 1, selector: { matchLabels: LABELS } });
  const without = readStackConfig(values(stackFile()), () => true);
  expect(environmentPlan(without)).not.toHaveProperty('PORTHOLE_BROWSERS_URL');
});

test.each<[what: string, browsers: object, more: Readonly<Record<string, unknown>>, problem: string]>([
  ['no image', { image: undefined }, {}, 'porthole:browsers.image: is required'],
  ['no page', { pages: 0 }, {}, 'porthole:browsers.pages: must be a whole number from 1 to 64'],
  [
    'an outward profile',
    { seccompProfile: '../x' },
    {},
    'porthole:browsers.seccompProfile: must be a relative path',
  ],
  ['a range of metadata', { egress: ['169.254.169.254/32'] }, {}, 'contains only metadata addresses'],
  [
    'keys that are not known',
    {},
    { 'porthole:functions': { image: 'x', existingSecret: 'kept' } },
    'porthole:sandboxes.guestKeys: is required for browsers',
  ],
])('the stack rejects browsers with %s', (_what, browsers, more, problem) => {
  const { config: plain, secrets } = stackFile({
    'porthole:browsers': { image: IMAGE, ...browsers },
    ...more,
  });
  const isKept = 'porthole:functions' in more;
  const read = () => readStackConfig(values({ config: plain, secrets: isKept ? {} : secrets }), () => true);
  expect(read).toThrow(problem);
});
