import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { App, Chart } from 'cdk8s';
import { Preview, previewManifests, type PreviewProps } from '#constructs/preview-objects.ts';

const TOKEN = 'calm-blue-otter-aaaaaaaaaaaaaaaaaaaaaaaaaa';
const PROPS: PreviewProps = {
  name: 'preview-0123456789abcdef0123',
  namespace: 'previews',
  gateway: { name: 'gateway', namespace: 'gateways', sectionName: 'previews' },
  hostname: `${TOKEN}-preview.example.com`,
  targetPort: 3000,
  runId: 'run_1',
  owner: 'alice@example.com',
  sandboxId: 'box',
  podName: 'box-pod',
  startedAt: new Date('2026-03-01T12:00:00Z'),
  expiresAt: new Date('2026-03-01T12:30:00Z'),
  maxUntil: new Date('2026-03-01T20:00:00Z'),
  attempt: 'an-attempt.0',
};
const STORED = { uid: 'a-uid', resourceVersion: '42' };

type Route = {
  metadata: Record<string, unknown>;
  spec: { rules: [own: { filters: unknown[] }, other: { filters: unknown[] }] } & Record<string, unknown>;
};

describe('the Service of a preview', () => {
  test('maps port 80 to the target port of the sandbox’s pod, without a virtual IP', () => {
    expect(previewManifests(PROPS).service).toMatchObject({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'preview-0123456789abcdef0123', namespace: 'previews' },
      spec: {
        clusterIP: 'None',
        selector: { 'porthole.sandbox.users.io/sandbox': 'box' },
        ports: [{ port: 80, targetPort: 3000, protocol: 'TCP' }],
      },
    });
  });

  test('has a virtual IP if the gateway needs one', () => {
    const { service } = previewManifests({ ...PROPS, serviceKind: 'clusterip' });
    expect((service as { spec: object }).spec).not.toHaveProperty('clusterIP');
  });
});

describe('the route of a preview', () => {
  const route = previewManifests(PROPS).route(STORED) as Route;

  test('is owned by its Service and attaches one host to one listener of the Gateway', () => {
    expect(route.metadata['ownerReferences']).toEqual([
      { apiVersion: 'v1', kind: 'Service', name: 'preview-0123456789abcdef0123', uid: 'a-uid' },
    ]);
    expect(route.spec).toMatchObject({
      parentRefs: [{ name: 'gateway', namespace: 'gateways', sectionName: 'previews' }],
      hostnames: [`${TOKEN}-preview.example.com`],
      rules: [
        { backendRefs: [{ name: 'preview-0123456789abcdef0123', port: 80 }], timeouts: { request: '0s' } },
        { backendRefs: [{ name: 'preview-0123456789abcdef0123', port: 80 }], timeouts: { request: '0s' } },
      ],
    });
  });

  const [own, other] = route.spec.rules;
  const answered = {
    type: 'ResponseHeaderModifier',
    responseHeaderModifier: {
      set: [
        { name: 'Referrer-Policy', value: 'same-origin' },
        { name: 'X-Robots-Tag', value: 'noindex, nofollow' },
      ],
      remove: ['Clear-Site-Data'],
    },
  };

  test('rewrites Host, forwards the public host, and sets the headers that keep the URL secret', () => {
    expect(other).not.toHaveProperty('matches');
    expect(other.filters).toEqual([
      { type: 'URLRewrite', urlRewrite: { hostname: 'localhost' } },
      {
        type: 'RequestHeaderModifier',
        requestHeaderModifier: {
          set: [
            { name: 'X-Forwarded-Host', value: `${TOKEN}-preview.example.com` },
            { name: 'X-Forwarded-Proto', value: 'https' },
          ],
        },
      },
      answered,
    ]);
  });

  test('rewrites the preview’s own Origin, and then forwards no public host', () => {
    expect(own).toMatchObject({
      matches: [
        {
          path: { type: 'PathPrefix', value: '/' },
          headers: [{ type: 'Exact', name: 'Origin', value: `https://${TOKEN}-preview.example.com` }],
        },
      ],
      timeouts: { request: '0s' },
      backendRefs: [{ name: 'preview-0123456789abcdef0123', port: 80 }],
    });
    expect(own.filters).toEqual([
      { type: 'URLRewrite', urlRewrite: { hostname: 'localhost' } },
      {
        type: 'RequestHeaderModifier',
        requestHeaderModifier: {
          set: [{ name: 'Origin', value: 'http://localhost' }],
          remove: ['X-Forwarded-Host', 'X-Forwarded-Port', 'X-Forwarded-Proto'],
        },
      },
      answered,
    ]);
  });

  test('forwards a public port that is not the default', () => {
    const away = JSON.stringify(previewManifests({ ...PROPS, publicPort: 8443 }).route(STORED));
    expect(away).toContain(`"${TOKEN}-preview.example.com:8443"`);
    expect(away).toContain(`"https://${TOKEN}-preview.example.com:8443"`);
  });

  test('stores its state in annotations', () => {
    expect(route.metadata['annotations']).toEqual({
      'porthole.sandbox.users.io/run': 'run_1',
      'porthole.sandbox.users.io/owner': 'alice@example.com',
      'porthole.sandbox.users.io/sandbox': 'box',
      'porthole.sandbox.users.io/pod': 'box-pod',
      'porthole.sandbox.users.io/target-port': '3000',
      'porthole.sandbox.users.io/started-at': '2026-03-01T12:00:00.000Z',
      'porthole.sandbox.users.io/expires-at': '2026-03-01T12:30:00.000Z',
      'porthole.sandbox.users.io/max-until': '2026-03-01T20:00:00.000Z',
      'porthole.sandbox.users.io/attempt': 'an-attempt.0',
      'porthole.sandbox.users.io/turn': '42',
      'porthole.sandbox.users.io/service-version': '42',
    });
    expect(route.metadata['labels']).toEqual({
      'app.kubernetes.io/managed-by': 'porthole',
      'app.kubernetes.io/component': 'preview',
      'porthole.sandbox.users.io/run': 'run_1',
      'porthole.sandbox.users.io/sandbox': 'box',
      'porthole.sandbox.users.io/owner': expect.stringMatching(/^sha256-[0-9a-f]+$/) as unknown,
      'porthole.sandbox.users.io/made-slot': '14769720',
      'porthole.sandbox.users.io/due-slot': '14769735',
    });
  });

  test('omits the deletion precondition on a Service that has other owners', () => {
    const claimed = previewManifests(PROPS).route({ ...STORED, isClaimed: true }) as Route;
    expect(claimed.metadata['annotations']).toMatchObject({ 'porthole.sandbox.users.io/turn': '42' });
    expect(claimed.metadata['annotations']).not.toHaveProperty(['porthole.sandbox.users.io/service-version']);
  });

  test('has the token in its hostname only: neither its metadata nor the Service contains it', () => {
    expect(JSON.stringify(route.metadata)).not.toContain(TOKEN);
    expect(JSON.stringify(previewManifests(PROPS).service)).not.toContain(TOKEN);
  });
});

describe('a preview through the guest', () => {
  const manifests = previewManifests({ ...PROPS, upstream: 'guest' });
  const route = manifests.route(STORED) as { spec: { rules: { filters: unknown[] }[] } };

  test('targets the port of the sandbox’s guest', () => {
    expect(manifests.service).toMatchObject({
      spec: { clusterIP: 'None', ports: [{ port: 80, targetPort: 2791, protocol: 'TCP' }] },
    });
  });

  test('overwrites the app port header on every request, and leaves the rest to the guest', () => {
    const [rule, ...more] = route.spec.rules;
    expect(more).toEqual([]);
    expect(rule).toMatchObject({
      timeouts: { request: '0s' },
      backendRefs: [{ name: 'preview-0123456789abcdef0123', port: 80 }],
    });
    expect(rule).not.toHaveProperty('matches');
    expect(rule?.filters).toEqual([
      {
        type: 'RequestHeaderModifier',
        requestHeaderModifier: { set: [{ name: 'X-Porthole-Port', value: '3000' }] },
      },
      {
        type: 'ResponseHeaderModifier',
        responseHeaderModifier: {
          set: [
            { name: 'Referrer-Policy', value: 'same-origin' },
            { name: 'X-Robots-Tag', value: 'noindex, nofollow' },
          ],
          remove: ['Clear-Site-Data'],
        },
      },
    ]);
  });
});

describe('an invalid preview', () => {
  test.each<[string, Partial<PreviewProps>, string]>([
    ['a name that is no DNS label', { name: 'Preview' }, 'Preview.name must be a lower-case DNS label'],
    ['port 0', { targetPort: 0 }, 'Preview.targetPort must be an integer between 1 and 65535, got 0.'],
    ['port 65536', { targetPort: 65_536 }, 'got 65536.'],
    ['half a port', { targetPort: 3000.5 }, 'got 3000.5.'],
    ['a time that is none', { startedAt: new Date('never') }, 'Preview.startedAt is no time.'],
    [
      'an expiry past its maximum',
      { expiresAt: new Date('2026-03-02T00:00:00Z') },
      'Preview.expiresAt (2026-03-02T00:00:00.000Z) must not be past maxUntil (2026-03-01T20:00:00.000Z).',
    ],
  ])('is rejected: %s', (_name, change, message) => {
    expect(() => previewManifests({ ...PROPS, ...change })).toThrow(message);
  });

  test.each([
    '*.example.com',
    'localhost',
    `${TOKEN}-preview.example.com:80`,
    `${TOKEN}-PREVIEW.example.com`,
  ])('is rejected without repeating the host: %s', (hostname) => {
    let message = '';
    try {
      previewManifests({ ...PROPS, hostname });
    } catch (error) {
      ({ message } = error as Error);
    }
    expect(message).toBe('Preview.hostname must be a lower-case DNS name without wildcard or port.');
  });
});

test('synthesises both objects of a preview in a chart', () => {
  const chart = new Chart(new App(), 'chart', { disableResourceNameHashes: true });
  const preview = new Preview(chart, 'preview', PROPS);
  expect(preview.serviceKind).toBe('headless');
  expect((chart.toJson() as { kind: string }[]).map(({ kind }) => kind)).toEqual(['Service', 'HTTPRoute']);
});

test('loads no cdk8s-plus on the start path of a preview, which would double the start time', async () => {
  const script = `
    await import('#constructs/preview-objects.ts');
    const { createRequire } = await import('node:module');
    const loaded = Object.keys(createRequire(import.meta.url).cache);
    console.log(loaded.some((file) => file.includes('/cdk8s/')), loaded.some((file) => file.includes('cdk8s-plus')));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  expect(stdout).toBe('true false\n');
});
