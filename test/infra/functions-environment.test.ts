import { rootCertificates } from 'node:tls';
import { describe, expect, test } from '@jest/globals';
import { readConfig } from '#host/config/config.ts';
import { environmentPlan, secretsPlan } from '../../infra/environment.plan.ts';
import { gatewayPlans } from '../../infra/gateway.plan.ts';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import { DATABASE_URL, SERVICE_KEY, SIGNING_KEYS, stackFile, values } from './support/stack-files.ts';

const everySecret = () => true;

const GATEWAY = { className: 'traefik', podNamespace: 'traefik', podLabels: { app: 'traefik' } };
const complete = values(stackFile());

describe("the functions' environment", () => {
  const config = readStackConfig(complete, everySecret);

  test('is one that the functions accept, and says what the stack file says', () => {
    const read = readConfig({ ...environmentPlan(config), ...secretsPlan(config) });
    expect({ ...read.preview }).toEqual({
      enabled: true,
      zoneSuffix: 'preview.test',
      gatewayName: 'agentweaver-preview-gateway',
      zones: [],
      gatewayNamespace: 'agentweaver',
      namespace: 'agentweaver',
      ...config.preview,
    });
    expect(read.host).toBe('0.0.0.0');
    expect(read.publicUrl?.href).toBe('https://porthole.example.com/');
    expect(read.databaseUrl).toBe(DATABASE_URL);
    expect(read.serviceKey).toBe(SERVICE_KEY);
    expect(read.signingKeys).toEqual(JSON.parse(SIGNING_KEYS));
  });

  test('has the limits of files and archives that the stack file says, and rejects others', () => {
    const read = (limits: object) =>
      readStackConfig({ ...complete, 'porthole:environment': JSON.stringify(limits) }, everySecret);
    const given = read({ PORTHOLE_MAX_FILE_MIB: 256, PORTHOLE_MAX_ARCHIVE_MIB: 4_096 });
    const { uploads } = readConfig({ ...environmentPlan(given), ...secretsPlan(given) });
    expect(uploads).toEqual({ file: 256 * 1024 ** 2, archive: 4 * 1024 ** 3 });
    expect(() => read({ PORTHOLE_MAX_FILE_MIB: 31 })).toThrow('must be a whole number from 32 to 1048576');
    expect(() => read({ PORTHOLE_MAX_ARCHIVE_MIB: 0 })).toThrow('must be a whole number from 1 to 16777216');
  });

  /** The functions' cluster settings for a stack file with these sandboxes and this gateway. */
  const clusterOf = (more: { sandboxes?: object; gateway?: object }) => {
    const { 'porthole:sandboxes': byDefault = '{}', ...rest } = complete;
    const given = readStackConfig(
      {
        ...rest,
        'porthole:sandboxes': more.sandboxes === undefined ? byDefault : JSON.stringify(more.sandboxes),
        'porthole:gateway': JSON.stringify({ ...GATEWAY, ...more.gateway }),
      },
      everySecret,
    );
    const { provider, cluster, images } = readConfig({ ...environmentPlan(given), ...secretsPlan(given) });
    return { provider, ...cluster, images };
  };

  test('lets sandboxes be pods where no warm pool is configured, and previews hang on the listener that the stack makes', () => {
    expect(clusterOf({})).toEqual({
      provider: 'kubernetes',
      sandboxImage: 'registry.example.com/sandbox@sha256:4567',
      pods: {
        storageClass: undefined,
        pullSecret: undefined,
        runtimeClassName: undefined,
        priorityClassName: undefined,
        guestImage: undefined,
        hostUsers: true,
        labels: {},
        annotations: {},
        nodeSelector: {},
        tolerations: [],
      },
      guestReach: undefined,
      size: { cpu: 2, memoryMb: 2_048, diskMb: 10_240 },
      warmPool: undefined,
      warmPoolsByImage: {},
      images: [],
      listener: 'previews',
      probeUrl: undefined,
      probeCa: undefined,
      serviceKind: 'headless',
      publicPort: 443,
      gatewayKind: 'Gateway',
    });
    expect(gatewayPlans(config)[0]?.made?.manifest.spec.listeners[0]?.name).toBe('previews');
  });

  const pools = {
    templates: { node: { image: 'node' }, python: { image: 'python' } },
    warmPools: {
      a: { template: 'node' },
      b: { template: 'python' },
      c: { template: 'node' },
    },
  };

  test.each<[what: string, sandboxes: object, expected: object]>([
    [
      'claims of the only pool',
      { templates: { node: { image: 'node' } }, warmPools: { ready: { template: 'node', replicas: 2 } } },
      {
        provider: 'agent-sandbox',
        warmPool: 'ready',
        warmPoolsByImage: { node: 'ready' },
        size: { cpu: 1, memoryMb: 1_024, diskMb: 1_024 },
      },
    ],
    [
      'claims as large as the template of the pool for everybody',
      {
        templates: { node: { image: 'node', cpu: '250m', memory: '1500M', storage: '2Gi' } },
        warmPools: { ready: { template: 'node' } },
      },
      { size: { cpu: 0.25, memoryMb: 1_430, diskMb: 2_048 } },
    ],
    [
      'claims of the pool of their image, of several the one for everybody',
      { ...pools, warmPool: 'c' },
      { provider: 'agent-sandbox', warmPool: 'c', warmPoolsByImage: { node: 'c', python: 'b' } },
    ],
    [
      'claims of the first pool of their image, where the one for everybody gives another',
      { ...pools, warmPool: 'b' },
      { warmPool: 'b', warmPoolsByImage: { node: 'a', python: 'b' } },
    ],
    [
      'claims of a pool that others keep',
      { warmPool: 'theirs' },
      { provider: 'agent-sandbox', warmPool: 'theirs', warmPoolsByImage: {} },
    ],
    [
      'pods, though there are pools, where the stack says so',
      {
        ...pools,
        warmPool: 'a',
        provider: 'kubernetes',
        image: 'debian',
        storageClass: 'fast',
        pullSecret: 'ours',
      },
      {
        provider: 'kubernetes',
        sandboxImage: 'debian',
        pods: { storageClass: 'fast', pullSecret: 'ours' },
      },
    ],
    [
      'pods of a RuntimeClass, in user namespaces',
      { image: 'debian', runtimeClassName: 'gvisor', hostUsers: false },
      { pods: { runtimeClassName: 'gvisor', hostUsers: false } },
    ],
    [
      'pods of a PriorityClass, on certain nodes',
      { image: 'debian', priorityClassName: 'low', pod: { nodeSelector: { pool: 'a' } } },
      { pods: { priorityClassName: 'low', nodeSelector: { pool: 'a' }, labels: {}, tolerations: [] } },
    ],
    [
      'whatever the cluster has, where the stack leaves it open',
      { provider: 'auto', image: 'debian', warmPool: 'theirs' },
      { provider: 'auto', sandboxImage: 'debian', warmPool: 'theirs' },
    ],
  ])('lets sandboxes be %s', (_, sandboxes, expected) => {
    expect(clusterOf({ sandboxes })).toMatchObject(expected);
  });

  const bare = { description: '', languages: [], resources: {} };
  test.each<[what: string, sandboxes: object, expected: object[]]>([
    [
      'what the stack file names',
      {
        image: 'debian',
        images: {
          py: { reference: 'r/py@sha256:1', description: 'd', languages: ['python'], cpu: 0.5, diskMb: 64 },
        },
      },
      [
        {
          name: 'py',
          reference: 'r/py@sha256:1',
          description: 'd',
          languages: ['python'],
          resources: { cpu: 0.5, diskMb: 64 },
        },
      ],
    ],
    [
      'the templates that pools give, under their names',
      { ...pools, templates: { ...pools.templates, idle: { image: 'idle' } }, warmPool: 'c' },
      [
        { ...bare, name: 'node', reference: 'node' },
        { ...bare, name: 'python', reference: 'python' },
      ],
    ],
    [
      'a pool’s image under another name as well',
      { ...pools, warmPool: 'c', images: { js: { reference: 'node' } } },
      [
        { ...bare, name: 'node', reference: 'node' },
        { ...bare, name: 'python', reference: 'python' },
        { ...bare, name: 'js', reference: 'node' },
      ],
    ],
  ])('gives the catalogue of images %s', (_, sandboxes, expected) => {
    expect(clusterOf({ sandboxes }).images).toEqual(expected);
  });

  test('says where the gateway is reached, and by what authority it is known', () => {
    const [ca = ''] = rootCertificates;
    const probe = { url: 'https://traefik.traefik.svc:8443', ca };
    const found = clusterOf({ gateway: { port: 8443, serviceKind: 'clusterip', probe } });
    expect(found.probeUrl?.href).toBe('https://traefik.traefik.svc:8443/');
    expect(found).toMatchObject({
      probeCa: '/etc/porthole/gateway/ca.crt',
      serviceKind: 'clusterip',
      publicPort: 8443,
    });
  });

  test('has the defaults of the functions themselves', () => {
    const alone = readConfig({});
    expect(config.preview).toEqual(
      Object.fromEntries(
        Object.entries(alone.preview).filter(
          ([key]) =>
            !['enabled', 'zones', 'zoneSuffix', 'gatewayName', 'gatewayNamespace', 'namespace'].includes(key),
        ),
      ),
    );
    expect(config.gateway.name).toBe(alone.preview.gatewayName);
    expect(config.namespaces.gateway).toBe(alone.preview.gatewayNamespace);
    expect(config.namespaces.previews).toBe(alone.preview.namespace);
  });

  test.each<[object, Record<string, string>, string]>([
    [{}, {}, 'link'],
    [{ oidc: { issuer: 'https://login.example.com', audience: 'porthole' } }, {}, 'org'],
    [{}, { 'porthole:apiKeys': '{"key-of-ann-for-tests":{"user":"ann","org":"acme"}}' }, 'org'],
    [
      { oidc: { issuer: 'https://login.example.com', audience: 'porthole' }, preview: { access: 'link' } },
      {},
      'link',
    ],
    [
      {
        oidc: { issuer: 'https://login.example.com', audience: 'porthole' },
        preview: { upstream: 'direct' },
      },
      {},
      'link',
    ],
  ])('opens the previews of a stack with %j %j to the level %s', (settings, secrets, level) => {
    const more = Object.fromEntries(
      Object.entries(settings).map(([key, value]) => [`porthole:${key}`, JSON.stringify(value)]),
    );
    const given = readStackConfig({ ...complete, ...more, ...secrets }, everySecret);
    expect(readConfig({ ...environmentPlan(given), ...secretsPlan(given) }).preview.access).toBe(level);
  });

  test('holds no secret outside of the Secret', () => {
    const clear = JSON.stringify(environmentPlan(config));
    for (const secret of [DATABASE_URL, SIGNING_KEYS, SERVICE_KEY]) expect(clear).not.toContain(secret);
  });
});
