import { rootCertificates } from 'node:tls';
import { describe, expect, test } from '@jest/globals';
import { EnvironmentSchema } from '#protocol/settings/environment-schema.ts';
import { archiveEnvironmentPlan } from '../../infra/archives.plan.ts';
import { environmentPlan, secretsPlan } from '../../infra/environment.plan.ts';
import { deploymentPlan, servicePlan } from '../../infra/functions.ts';
import { settingOf } from '../../infra/variables.ts';
import { functionsPlan } from '../../infra/network.ts';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import { describeSettings } from '../../build/reference/describe-settings.ts';
import { stackFile, values } from './support/stack-files.ts';

const read = (
  more: Readonly<Record<string, unknown>> = {},
  secrets: Readonly<Record<string, string>> = {},
) => {
  const file = stackFile(more);
  return readStackConfig(values({ ...file, secrets: { ...file.secrets, ...secrets } }), () => true);
};
const names = Object.keys(EnvironmentSchema.shape) as (keyof typeof EnvironmentSchema.shape)[];
/** Variables that the stack decides, without a setting. */
const FIXED: readonly string[] = ['HOST'];
const byEnvironment = names.filter((name) => settingOf(name, read()) === undefined && !FIXED.includes(name));

/** Variables that are set together or not at all. */
const PARTNER: Readonly<Record<string, string>> = {
  PORTHOLE_TLS_CERT: 'PORTHOLE_TLS_KEY',
  PORTHOLE_TLS_KEY: 'PORTHOLE_TLS_CERT',
};

const [PEM = ''] = rootCertificates;
const GATEWAY = { className: 'traefik', podNamespace: 'traefik', podLabels: { app: 'traefik' } };

/** Every setting that becomes a variable. */
const everything = read(
  {
    'porthole:gateway': {
      ...GATEWAY,
      className: undefined,
      existing: { name: 'shared', namespace: 'edge' },
      listenerSet: 'ListenerSet',
      probe: { url: 'https://traefik', ca: PEM },
    },
    'porthole:zones': [{ zone: 'acme.test', orgs: ['acme'], gateway: { className: 'traefik' } }],
    'porthole:oidc': { issuer: 'https://login.example.com', audience: 'porthole', clientId: 'console' },
    'porthole:functions': { image: 'functions', featuresOff: ['mcp'] },
    'porthole:broker': {},
    'porthole:browsers': { image: 'browsers' },
    'porthole:archives': { bucket: 'kept', endpoint: 'https://s3.example.com' },
    'porthole:sandboxes': {
      provider: 'auto',
      image: 'node',
      storageClass: 'fast',
      pullSecret: 'registry',
      runtimeClassName: 'gvisor',
      hostUsers: false,
      priorityClassName: 'low',
      pod: { labels: { team: 'agents' } },
      guestImage: 'guest',
      templates: { node: { image: 'node' } },
      warmPools: { ready: { template: 'node' } },
      warmPoolTarget: 1,
    },
  },
  {
    'porthole:apiKeys': '{"key-of-ann-for-tests":{"user":"ann","org":"acme"}}',
    'porthole:oidcClientSecret': 'secret-of-the-client',
    'porthole:archiveAccessKeyId': 'id',
    'porthole:archiveSecretAccessKey': 'secret',
  },
);

describe('every variable of the functions can be set from a stack', () => {
  test.each(names.filter((name) => !byEnvironment.includes(name) && !FIXED.includes(name)))(
    '%s by its setting',
    (name) => {
      const variables = [
        ...Object.keys({ ...environmentPlan(everything), ...secretsPlan(everything) }),
        ...archiveEnvironmentPlan(everything).map((each) => each.name),
      ];
      expect(variables).toContain(name);
      const setting = settingOf(name, everything) ?? '';
      const ofSetting = describeSettings().filter(({ key }) => `${key}.`.startsWith(`${setting}.`));
      expect(ofSetting).not.toEqual([]);
    },
  );

  test.each(byEnvironment)('%s by its name', (name) => {
    const text = ['2', '64', 'true', 'none', 'address', 'https://s3.example.com', 'text', '{}'].find(
      (each) => EnvironmentSchema.shape[name].safeParse(each).success,
    );
    const isSecret = [
      'AWS_SECRET_ACCESS_KEY',
      'R2_SECRET_ACCESS_KEY',
      'PORTHOLE_BUCKETS',
      'OTEL_EXPORTER_OTLP_HEADERS',
    ].includes(name);
    const key = `porthole:${isSecret ? 'secretEnvironment' : 'environment'}`;
    const partner = PARTNER[name];
    const config = read({ [key]: { [name]: text, ...(partner !== undefined && { [partner]: text }) } });
    expect((isSecret ? secretsPlan(config) : environmentPlan(config))?.[name]).toBe(text);
    expect((isSecret ? environmentPlan(config) : secretsPlan(config))?.[name]).toBeUndefined();
  });
});

test('gives pods and network policy the port and data folder that variables say', () => {
  const config = read({ 'porthole:environment': { PORT: 9000, PORTHOLE_DATA_DIR: '/data' } });
  const [container] = deploymentPlan(config).spec.template.spec.containers;
  expect(container?.ports[0]).toMatchObject({ name: 'http', containerPort: 9000 });
  expect(container?.volumeMounts[0]).toEqual({ name: 'data', mountPath: '/data' });
  expect(servicePlan(config).spec.ports[0]).toMatchObject({ port: 80, targetPort: 'http' });
  expect(functionsPlan(config).spec.ingress[0]?.ports[0]?.port).toBe(9000);
});
