import { describe, expect, test } from '@jest/globals';
import { readConfig } from '#host/config/config.ts';
import { environmentPlan, secretsPlan } from '../../infra/functions/environment.plan.ts';
import { readStackConfig, StackConfigError } from '../../infra/stack-config/read-stack-config.ts';
import { DATABASE_URL, SERVICE_KEY, SIGNING_KEYS, stackFile, values } from './support/stack-files.ts';

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

const complete = values(stackFile());
const withKey = (key: string, value: unknown) => ({
  ...complete,
  [`porthole:${key}`]: JSON.stringify(value),
});
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
      'porthole:databaseUrl: stands in clear text; set it with: pulumi config set --secret porthole:databaseUrl',
      'porthole:zone: must be a lower-case DNS name of two labels or more',
      'porthole:apiHost: is required',
      'porthole:gateway.className: is required',
      'porthole:gateway.podLabels: must name a label or more',
      'porthole:preview.allowedPortMin: must be a whole number from 1 to 65535',
      'porthole:preview.maxtotal: is not a setting; docs/deploy.md lists them',
      'porthole:functions: must be a structure of keys and values',
      'porthole:databaseUrl: must be a postgres:// URL',
      'porthole:gatway: is not a setting; docs/deploy.md lists them',
    ]);
    expect(problems.join('\n')).not.toContain('hunter2');
  });

  test.each([
    [
      'a range upside down',
      withKey('preview', { allowedPortMin: 9000, allowedPortMax: 3000 }),
      'porthole:preview.allowedPortMin: 9000 is above allowedPortMax (3000)',
    ],
    [
      'more replicas than the most',
      withKey('functions', { image: 'x', replicas: 3, maxReplicas: 2 }),
      'porthole:functions.replicas: 3 is above maxReplicas (2)',
    ],
    [
      "an API on a preview's host",
      { ...complete, 'porthole:apiHost': 'a-preview.preview.test' },
      'porthole:apiHost: a-preview.preview.test is the host of a preview: it must not end with -preview.preview.test',
    ],
    [
      'an existing namespace that nothing uses',
      withKey('namespaces', { existing: ['default'] }),
      'porthole:namespaces.existing: default is none of the three namespaces',
    ],
    [
      'existing Secrets in a namespace that is yet to be made',
      withKey('certificates', { previewSecret: 'tls', apiSecret: 'tls' }),
      'porthole:certificates.issuer: without an issuer both TLS Secrets stand already, so namespaces.existing must list their namespace, agentweaver',
    ],
    [
      'a pool of a template that is not there',
      withKey('sandboxes', { warmPools: { pool: { template: 'none' } } }),
      'porthole:sandboxes.warmPools.pool.template: there is no template none',
    ],
    [
      'metadata addresses to be reached',
      withKey('sandboxes', { egress: ['169.254.169.254/32'] }),
      'porthole:sandboxes.egress.0: holds nothing but metadata addresses, which no sandbox may ever reach',
    ],
    [
      'a range within another',
      withKey('sandboxes', { egress: ['203.0.113.0/24', '0.0.0.0/0'] }),
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
  ])('refuses %s', (_, given, problem) => {
    expect(problemsOf(given)).toEqual([problem]);
  });

  test('refuses secrets beside a Secret that others keep', () => {
    expect(problemsOf(withKey('functions', { image: 'x', existingSecret: 'kept' }))).toEqual([
      'porthole:databaseUrl: is not used, because functions.existingSecret names a Secret kept by others',
      'porthole:signingKeys: is not used, because functions.existingSecret names a Secret kept by others',
      'porthole:serviceKey: is not used, because functions.existingSecret names a Secret kept by others',
    ]);
  });
});

describe("the functions' environment", () => {
  const config = readStackConfig(complete, everySecret);

  test('is one that the functions accept, and says what the stack file says', () => {
    const read = readConfig({ ...environmentPlan(config), ...secretsPlan(config) });
    expect({ ...read.preview }).toEqual({
      enabled: true,
      zoneSuffix: 'preview.test',
      gatewayName: 'agentweaver-preview-gateway',
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

  test('has the defaults of the functions themselves', () => {
    const alone = readConfig({});
    expect(config.preview).toEqual(
      Object.fromEntries(
        Object.entries(alone.preview).filter(
          ([key]) => !['enabled', 'zoneSuffix', 'gatewayName', 'gatewayNamespace', 'namespace'].includes(key),
        ),
      ),
    );
    expect(config.gateway.name).toBe(alone.preview.gatewayName);
    expect(config.namespaces.gateway).toBe(alone.preview.gatewayNamespace);
    expect(config.namespaces.previews).toBe(alone.preview.namespace);
  });

  test('holds no secret outside of the Secret', () => {
    const clear = JSON.stringify(environmentPlan(config));
    for (const secret of [DATABASE_URL, SIGNING_KEYS, SERVICE_KEY]) expect(clear).not.toContain(secret);
  });
});
