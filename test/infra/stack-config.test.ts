import { rootCertificates } from 'node:tls';
import { describe, expect, test } from '@jest/globals';
import { readStackConfig, StackConfigError } from '../../infra/read-stack-config.ts';
import { DATABASE_URL, SERVICE_KEY, stackFile, values } from './support/stack-files.ts';

const everySecret = () => true;

function problemsOf(
  given: Readonly<Record<string, string>>,
  isSecret: (key: string) => boolean = everySecret,
): readonly string[] {
  try {
    readStackConfig(given, isSecret);
  } catch (error) {
    if (error instanceof StackConfigError) return error.problems;
    throw error;
  }
  return [];
}

const GATEWAY = { className: 'traefik', podNamespace: 'traefik', podLabels: { app: 'traefik' } };
const [PEM = ''] = rootCertificates;
const complete = values(stackFile());
const withKey = (key: string, value: unknown) => ({
  ...complete,
  [`porthole:${key}`]: JSON.stringify(value),
});
const GUESTED = {
  templates: { node: { image: 'node' } },
  warmPools: { ready: { template: 'node' } },
};
const without = (key: string) =>
  Object.fromEntries(Object.entries(complete).filter(([each]) => each !== `porthole:${key}`));

describe('a stack file', () => {
  test("has the reference's own names by default", () => {
    const { namespaces, gateway } = readStackConfig(complete, everySecret);
    expect(gateway.name).toBe('agentweaver-preview-gateway');
    expect(namespaces).toEqual({
      previews: 'agentweaver',
      gateway: 'agentweaver',
      functions: 'porthole',
      existing: [],
    });
  });

  test('ignores keys of other projects and of providers', () => {
    expect(problemsOf({ ...complete, 'kubernetes:context': 'mine', 'other:zone': 'x' })).toEqual([]);
  });

  test('reports every problem at once, and shows the value of no secret', () => {
    const problems = problemsOf(
      {
        'porthole:zone': 'Preview.test',
        'porthole:gatway': '{}',
        'porthole:gateway': JSON.stringify({ podNamespace: 'traefik', podLabels: {} }),
        'porthole:preview': JSON.stringify({ allowedPortMin: 0, maxtotal: 5 }),
        'porthole:functions': 'replicas 2',
        'porthole:databaseUrl': 'mysql://user:hunter2@host/db',
      },
      () => false,
    );
    expect(problems).toEqual([
      'porthole:databaseUrl: is stored in clear text; set it with: pulumi config set --secret porthole:databaseUrl',
      'porthole:functions: must be a structure of keys and values',
      'porthole:zone: must be a lower-case DNS name of two labels or more, got "Preview.test"',
      'porthole:apiHost: is required',
      'porthole:gateway.podLabels: must have at least one label',
      'porthole:preview.allowedPortMin: must be a whole number from 1 to 65535, got 0',
      'porthole:preview.maxtotal: is not a setting; did you mean maxTotal?',
      'porthole:databaseUrl: must be a postgres:// URL',
      'porthole:gatway: is not a setting; did you mean gateway?',
    ]);
    expect(problems.join('\n')).not.toContain('hunter2');
  });

  test('reports contradictions beside keys that the schema refuses, and none about those', () => {
    const functions = { image: 'functions:1', replicas: 'two', maxReplicas: 3 };
    const preview = { allowedPortMin: 9000, allowedPortMax: 3000, maxtotal: 5 };
    const { 'porthole:databaseUrl': _, ...rest } = complete;
    expect(
      problemsOf({
        ...rest,
        'porthole:functions': JSON.stringify(functions),
        'porthole:preview': JSON.stringify(preview),
        'porthole:signingKeys': 'none',
      }),
    ).toEqual([
      'porthole:preview.maxtotal: is not a setting; did you mean maxTotal?',
      'porthole:functions.replicas: must be a whole number from 1 to 100',
      expect.stringMatching(/^porthole:signingKeys: /),
      'porthole:preview.allowedPortMin: 9000 is above allowedPortMax (3000)',
      expect.stringMatching(/^porthole:databaseUrl: is required with more than one replica/),
    ]);
  });

  test.each([
    [
      'a short service key',
      { ...complete, 'porthole:serviceKey': 'fifteen-letters' },
      'porthole:serviceKey: must have at least 16 characters',
    ],
    [
      'a range upside down',
      withKey('preview', { allowedPortMin: 9000, allowedPortMax: 3000 }),
      'porthole:preview.allowedPortMin: 9000 is above allowedPortMax (3000)',
    ],
    [
      'a range around the port of the guest',
      withKey('preview', { upstream: 'guest', allowedPortMin: 2000 }),
      "porthole:preview.allowedPortMin: port 2791 is the guest's, so previews may not expose 2000 to 9000: begin above it, or set preview.upstream to direct",
    ],
    [
      'guests of templates with unknown signing keys',
      {
        ...Object.fromEntries(
          Object.entries(complete).filter(
            ([key]) => !key.endsWith('Key') && !key.endsWith('Keys') && !key.endsWith('Url'),
          ),
        ),
        'porthole:functions': JSON.stringify({ image: 'x', existingSecret: 'kept' }),
        'porthole:sandboxes': JSON.stringify(GUESTED),
      },
      'porthole:sandboxes.guestKeys: is required for the guests of templates, because the signing keys come from an existing Secret: set what `npm run config -- guest-keys` prints with PORTHOLE_SIGNING_KEYS',
    ],
    [
      'guests of templates without signing keys',
      { ...withKey('sandboxes', GUESTED), 'porthole:signingKeys': '{}' },
      'porthole:signingKeys: keys: Invalid input: expected array, received undefined',
    ],
    [
      'more replicas than the most',
      withKey('functions', { image: 'x', replicas: 3, maxReplicas: 2 }),
      'porthole:functions.replicas: 3 is above maxReplicas (2)',
    ],
    [
      'an API in the zone of previews',
      { ...complete, 'porthole:apiHost': 'api.preview.test' },
      'porthole:apiHost: api.preview.test lies in the zone of previews, preview.test, which could set cookies for it: name a host outside',
    ],
    [
      'an API on the zone itself',
      { ...complete, 'porthole:apiHost': 'preview.test' },
      'porthole:apiHost: preview.test lies in the zone of previews, preview.test, which could set cookies for it: name a host outside',
    ],
    [
      'an authority of the database by the name of its file',
      withKey('functions', { image: 'x', databaseCa: '/etc/ca.crt' }),
      'porthole:functions.databaseCa: must be certificates in PEM',
    ],
    [
      'a port of the database that the network policy closes',
      { ...complete, 'porthole:databaseUrl': 'postgres://db.example.com:6432/porthole' },
      'porthole:functions.egressPorts: must have the port 6432 of databaseUrl, which the network policy otherwise closes; it has 443, 6443, 5432',
    ],
    [
      'a certificate of the database that is not mounted',
      { ...complete, 'porthole:databaseUrl': `${DATABASE_URL}?sslrootcert=/etc/porthole/database/ca.crt` },
      'porthole:databaseUrl: sslrootcert names /etc/porthole/database/ca.crt, which the pods do not have: set functions.databaseCa to its PEM, or remove sslrootcert if the system trusts the CA',
    ],
    [
      'another file beside the certificate that is mounted',
      {
        ...withKey('functions', { image: 'x', databaseCa: PEM }),
        'porthole:databaseUrl': `${DATABASE_URL}?sslrootcert=/etc/porthole/database/root.pem`,
      },
      'porthole:databaseUrl: sslrootcert names /etc/porthole/database/root.pem, which the pods do not have: functions.databaseCa is mounted at /etc/porthole/database/ca.crt',
    ],
    [
      'a PEM with a block that is no certificate',
      withKey('functions', {
        image: 'x',
        databaseCa: `${PEM}\n-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n`,
      }),
      'porthole:functions.databaseCa: has a block that is not a certificate: give the PEM file of the CA as it is',
    ],
    [
      'an existing namespace that nothing uses',
      withKey('namespaces', { existing: ['default'] }),
      'porthole:namespaces.existing: default is none of the three namespaces',
    ],
    [
      'existing Secrets in a namespace that is yet to be made',
      withKey('certificates', { previewSecret: 'tls', apiSecret: 'tls' }),
      'porthole:certificates.issuer: without an issuer the TLS Secrets exist already, so namespaces.existing must list their namespace, agentweaver',
    ],
    [
      'a pool of a template that is not there',
      withKey('sandboxes', { warmPools: { pool: { template: 'none' } } }),
      'porthole:sandboxes.warmPools.pool.template: there is no template none',
    ],
    [
      'a target for a pool that pods do not have',
      withKey('sandboxes', { image: 'node', warmPoolTarget: 3 }),
      'porthole:sandboxes.warmPoolTarget: 3 has no effect with the provider kubernetes, which keeps no sandbox ready: use agent-sandbox, or leave it out',
    ],
    [
      'an image that no pool gives',
      withKey('sandboxes', {
        templates: { node: { image: 'node' } },
        warmPools: { ready: { template: 'node' } },
        images: { py: { reference: 'python' } },
      }),
      'porthole:sandboxes.images.py.reference: python is given by none of warmPools',
    ],
    [
      'sandboxes that nothing would make',
      withKey('sandboxes', {}),
      'porthole:sandboxes.image: is required with the provider kubernetes: the image of sandboxes that ask for none',
    ],
    [
      'pools of which none is the one for sandboxes that ask for no image',
      withKey('sandboxes', {
        templates: { node: { image: 'node' } },
        warmPools: { small: { template: 'node' }, big: { template: 'node' } },
      }),
      'porthole:sandboxes.warmPool: is required with the provider agent-sandbox: the pool of sandboxes that ask for no image, one of big, small',
    ],
    [
      'a pool for them that is none of the pools',
      withKey('sandboxes', {
        warmPool: 'other',
        templates: { node: { image: 'node' } },
        warmPools: { small: { template: 'node' } },
      }),
      'porthole:sandboxes.warmPool: other is none of warmPools (small)',
    ],
    [
      'a provider that is found out at the start, and would lack a pool then',
      withKey('sandboxes', { provider: 'auto', image: 'node' }),
      'porthole:sandboxes.warmPool: is required with the provider auto: the pool of sandboxes that ask for no image',
    ],
    [
      'a gateway that is reached by no URL',
      withKey('gateway', { ...GATEWAY, probe: { url: 'traefik:443' } }),
      'porthole:gateway.probe.url: must be an http or https URL',
    ],
    [
      'an authority by the name of its file',
      withKey('gateway', { ...GATEWAY, probe: { url: 'https://traefik', ca: '/etc/ca.crt' } }),
      'porthole:gateway.probe.ca: must be certificates in PEM',
    ],
    [
      'metadata addresses to be reached',
      withKey('sandboxes', { egress: ['169.254.169.254/32'] }),
      'porthole:sandboxes.egress.0: contains only metadata addresses, which sandboxes may never reach',
    ],
    [
      'a range within another',
      withKey('sandboxes', { image: 'x', egress: ['203.0.113.0/24', '0.0.0.0/0'] }),
      'porthole:sandboxes.egress: 203.0.113.0/24 lies within 0.0.0.0/0 already',
    ],
    [
      'several replicas without a database',
      without('databaseUrl'),
      'porthole:databaseUrl: is required with more than one replica (functions.maxReplicas is 10); set it with: pulumi config set --secret porthole:databaseUrl',
    ],
    [
      'no keys to sign with',
      without('signingKeys'),
      'porthole:signingKeys: is required, so that URLs outlive a pod and every replica signs with the same keys; set it with: pulumi config set --secret porthole:signingKeys',
    ],
    [
      'nothing that tells callers apart',
      without('serviceKey'),
      'porthole:serviceKey, apiKeys or oidc: one is required, because nothing else would tell callers apart; set it with: pulumi config set --secret porthole:serviceKey',
    ],
    [
      'a bucket without the keys to it',
      withKey('archives', { bucket: 'kept' }),
      'porthole:archiveAccessKeyId: is required with archives, unless archives.existingSecret names a Secret that holds it; set it with: pulumi config set --secret porthole:archiveAccessKeyId',
      'porthole:archiveSecretAccessKey: is required with archives, unless archives.existingSecret names a Secret that holds it; set it with: pulumi config set --secret porthole:archiveSecretAccessKey',
    ],
    [
      'keys to no bucket',
      { ...complete, 'porthole:archiveAccessKeyId': 'id' },
      'porthole:archiveAccessKeyId: is not used, because archives names no bucket',
    ],
    [
      'keys beside a Secret that holds them',
      {
        ...withKey('archives', { bucket: 'kept', existingSecret: 'theirs' }),
        'porthole:archiveSecretAccessKey': 'secret',
      },
      'porthole:archiveSecretAccessKey: is not used, because archives.existingSecret names a Secret kept by others',
    ],
    [
      'a variable that a setting decides, one that holds secrets, one of a value that the functions refuse, and one that they do not know',
      withKey('environment', {
        OIDC_ISSUER: 'https://login.example.com',
        PORTHOLE_BUCKETS: {},
        SANDBOX_RETENTION_HOURS: 0,
        SANDBOX_RETENTION_HOUR: 1,
      }),
      'porthole:environment.OIDC_ISSUER: is decided by oidc.issuer: set that',
      'porthole:environment.PORTHOLE_BUCKETS: holds secrets: set it in secretEnvironment',
      'porthole:environment.SANDBOX_RETENTION_HOURS: must be a whole number from 1 to 87600',
      'porthole:environment.SANDBOX_RETENTION_HOUR: is not a variable of the functions; did you mean SANDBOX_RETENTION_HOURS?',
    ],
    [
      'the address and ports of others, and a password in a URL',
      withKey('environment', { HOST: '::', PORT: 8788, HTTPS_PROXY: 'http://user:pa55@proxy:3128' }),
      'porthole:environment.HOST: is decided by the stack, which listens on 0.0.0.0: remove it',
      'porthole:environment.PORT: 8788 cannot be the port of the API: set another, e.g. 8787, or remove it',
      'porthole:environment.HTTPS_PROXY: holds secrets: set it in secretEnvironment',
    ],
    [
      'a port that is not known',
      withKey('environment', { PORT: 0 }),
      'porthole:environment.PORT: 0 cannot be the port of the API: set another, e.g. 8787, or remove it',
    ],
    [
      'sizes that the API server rejects for every pod',
      {
        ...withKey('environment', { PORTHOLE_SANDBOX_CPUS: 4, PORTHOLE_SANDBOX_MEMORY_MIB: '4096' }),
        'porthole:sandboxes': JSON.stringify({
          image: 'node',
          images: { big: { reference: 'big', cpu: 2, memoryMb: 2049 } },
        }),
      },
      'porthole:environment.PORTHOLE_SANDBOX_CPUS: 4 is above 2 cores, the most that the pod of a sandbox may have: lower it, or use a template of agent-sandbox',
      'porthole:environment.PORTHOLE_SANDBOX_MEMORY_MIB: 4096 is above 2048 MiB, the most that the pod of a sandbox may have: lower it, or use a template of agent-sandbox',
      'porthole:sandboxes.images.big.memoryMb: 2049 is above 2048 MiB, the most that the pod of a sandbox may have: lower it, or use a template of agent-sandbox',
    ],
    [
      'previews in a namespace of Kubernetes',
      withKey('namespaces', { previews: 'kube-system' }),
      'porthole:namespaces.previews: kube-system is a namespace that Kubernetes and others use: name one for sandboxes only, e.g. agentweaver',
    ],
    [
      "previews beside the gateway's pods",
      withKey('namespaces', { previews: 'traefik' }),
      "porthole:namespaces.previews: traefik is a namespace that the gateway's pods (gateway.podNamespace) use: name one for sandboxes only, e.g. agentweaver",
    ],
    [
      'limits that are above others',
      {
        ...withKey('preview', { maxPerRun: 6, maxTotal: 5, idleTimeoutMinutes: 90, maxLifetimeHours: 1 }),
        'porthole:sandboxes': JSON.stringify({
          ...GUESTED,
          warmPools: { ready: { template: 'node', replicas: 4 } },
          maxTotal: 3,
        }),
      },
      'porthole:preview.maxPerRun: 6 is above maxTotal (5)',
      'porthole:preview.idleTimeoutMinutes: 90 is above maxLifetimeHours, in minutes (60)',
      'porthole:sandboxes.warmPools.ready.replicas: 4 is above sandboxes.maxTotal (3)',
    ],
    [
      'a template without a pool',
      withKey('sandboxes', { ...GUESTED, warmPools: {}, image: 'node' }),
      'porthole:sandboxes.templates: node: not used without a pool: add it to warmPools, or remove it',
    ],
    [
      "a client's secret without its client",
      { ...complete, 'porthole:oidcClientSecret': 'secret-of-the-client' },
      'porthole:oidcClientSecret: is not used without oidc.clientId: set that, or remove it',
    ],
    [
      'a user with the service key',
      { ...complete, 'porthole:apiKeys': JSON.stringify({ [SERVICE_KEY]: { user: 'ann', org: 'acme' } }) },
      'porthole:apiKeys: a key equals serviceKey, which has admin rights: give that user another one',
    ],
    [
      'settings of a Gateway beside one that others keep',
      withKey('gateway', {
        ...GATEWAY,
        existing: { name: 'shared', namespace: 'edge', sectionName: 'previews' },
        addresses: [{ value: '203.0.113.7' }],
      }),
      'porthole:gateway.className: is not used, because others keep the Gateway shared: remove it',
      'porthole:gateway.addresses: is not used, because others keep the Gateway shared: remove it',
      'porthole:certificates.issuer: is not used, because others keep every Gateway: remove it',
    ],
    [
      'a Gateway of no class',
      withKey('gateway', { podNamespace: 'traefik', podLabels: { app: 'traefik' } }),
      'porthole:gateway.className: is required, unless gateway.existing names a Gateway of others',
    ],
    [
      'additions to sandboxes that break what Porthole or the API server do',
      withKey('sandboxes', {
        image: 'node',
        pod: {
          labels: { 'porthole.sandbox.users.io/role': 'other', team: 'a b' },
          tolerations: [{ key: 'gpu', operator: 'Every' }],
          affinity: {
            podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ matchLabelKeys: ['a'] }] },
          },
        },
      }),
      'porthole:sandboxes.pod.labels.porthole.sandbox.users.io/role: is a key that Porthole or Kubernetes sets',
      'porthole:sandboxes.pod.labels.team: must be the value of a label',
      'porthole:sandboxes.pod.tolerations.0.operator: must be Exists or Equal',
      'porthole:sandboxes.pod.affinity: must not have matchLabelKeys: use a labelSelector',
    ],
    [
      'keys of people that are too short',
      { ...complete, 'porthole:apiKeys': '{"short":{"user":"ann","org":"acme"}}' },
      'porthole:apiKeys: (a key): a key needs at least 16 characters',
    ],
    [
      'archives in no bucket',
      withKey('archives', { bucket: 'My_Bucket', existingSecret: 'theirs' }),
      'porthole:archives.bucket: must be the name of a bucket',
    ],
    [
      'a bucket that is reached by no URL',
      withKey('archives', { bucket: 'kept', existingSecret: 'theirs', endpoint: 's3:443' }),
      'porthole:archives.endpoint: must be an http or https URL',
    ],
  ])('refuses %s', (_, given, ...problems) => {
    expect(problemsOf(given)).toEqual(problems);
  });

  test('shows the value of a refused setting, unless its key is encrypted', () => {
    const given = {
      ...withKey('gateway', { ...GATEWAY, port: '443', classname: 'x', podLabels: { 'a b': 'c' } }),
      'porthole:functions': JSON.stringify({
        image: 'UPPER/case:tag',
        cpu: '2Gi',
        memory: '100m',
        placement: { nodeSelector: 'x' },
        pullSecret: null,
      }),
      'porthole:sandboxes': JSON.stringify({ image: 'bad image name', storageClass: 'Nope!' }),
      'porthole:zoen': 'preview.test',
    };
    const problems = [
      'porthole:gateway.port: must be a whole number from 1 to 65535, got "443"',
      'porthole:gateway.podLabels.a b: must be a name, e.g. team or example.com/team',
      'porthole:gateway.classname: is not a setting; did you mean className?',
      'porthole:functions.placement.nodeSelector: must be keys and values, got "x"',
      'porthole:functions.image: must be the reference of an image, e.g. registry.example.com/app:1, got "UPPER/case:tag"',
      'porthole:functions.cpu: must be a number of CPU cores, e.g. 500m or 2, got "2Gi"',
      'porthole:functions.memory: must be a size of at least 1Mi, e.g. 512Mi or 1Gi, got "100m"',
      'porthole:functions.pullSecret: has no value: set one, or remove the key',
      'porthole:sandboxes.image: must be the reference of an image, e.g. registry.example.com/app:1, got "bad image name"',
      'porthole:sandboxes.storageClass: must be the lower-case name of an object, e.g. standard-rwo, got "Nope!"',
      'porthole:zoen: is not a setting; did you mean zone?',
    ];
    const secrets = ['porthole:databaseUrl', 'porthole:signingKeys', 'porthole:serviceKey'];
    expect(problemsOf(given, (key) => secrets.includes(key))).toEqual(problems);
    expect(problemsOf(given)).toEqual(problems.map((line) => line.replace(/, got ".*"$/, '')));
  });

  test.each([
    ['memory', 0],
    ['memory', '0'],
    ['memory', '512'],
    ['cpu', '0'],
    ['cpu', -1],
  ])('refuses functions.%s of %j', (key, value) => {
    expect(problemsOf(withKey('functions', { image: 'x', [key]: value }))).toEqual([
      expect.stringContaining(`porthole:functions.${key}: must be a `),
    ]);
  });

  test('accepts cores as numbers', () => {
    const sandboxes = { ...GUESTED, templates: { node: { image: 'node', cpu: 1 } } };
    const given = {
      ...withKey('functions', { image: 'localhost:5000/a/b_c:1.0@sha256:0a', cpu: 0.5 }),
      'porthole:sandboxes': JSON.stringify(sandboxes),
      'porthole:browsers': JSON.stringify({ image: 'registry.example.com/x', cpu: 2 }),
    };
    const config = readStackConfig(given, everySecret);
    expect(config.functions.cpu).toBe('500m');
    expect(config.sandboxes.templates['node']?.cpu).toBe('1');
    expect(config.browsers?.cpu).toBe('2');
  });

  test('names the template that makes sandboxes too small', () => {
    const sandboxes = { ...GUESTED, templates: { node: { image: 'node', memory: '32Mi' } } };
    expect(problemsOf(withKey('sandboxes', sandboxes))).toEqual([
      'porthole:sandboxes.templates.node.memory: makes PORTHOLE_SANDBOX_MEMORY_MIB 32, which must be a whole number from 64 to 16777216',
    ]);
  });

  test('refuses secrets beside a Secret that others keep', () => {
    expect(problemsOf(withKey('functions', { image: 'x', existingSecret: 'kept' }))).toEqual([
      'porthole:databaseUrl: is not used, because functions.existingSecret names a Secret kept by others',
      'porthole:signingKeys: is not used, because functions.existingSecret names a Secret kept by others',
      'porthole:serviceKey: is not used, because functions.existingSecret names a Secret kept by others',
    ]);
  });
});
