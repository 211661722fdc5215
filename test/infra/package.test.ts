import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type ProgramResult, recordProgram, type Registration } from '../pulumi/record-program.ts';
import { pathsWhere, Secret, UNKNOWN } from '../pulumi/wire-values.ts';
import { DATABASE_URL, secretTexts, SERVICE_KEY, SIGNING_KEYS } from './support/stack-files.ts';

const PATIENT = 180_000;
const IMAGE = 'registry.example.com/sandbox:1';

/** A part of an object of the cluster. */
type Reported = Readonly<Record<string, unknown>>;

const GATEWAY: Reported = { status: { addresses: [{ value: '203.0.113.7' }] } };

/**
 * @param databaseUrl undefined while the database does not exist yet
 * @param cluster what the cluster reports of the Gateway and its class
 */
function run(
  databaseUrl: string | undefined,
  cluster: { readonly gateway: Reported; readonly gatewayClass?: Reported } = { gateway: GATEWAY },
): Promise<ProgramResult> {
  const isPreview = databaseUrl === undefined;
  return recordProgram({
    project: 'platform',
    stack: 'test',
    main: join(import.meta.dirname, '../../examples/pulumi/main.ts'),
    stackFile: {
      config: {},
      secrets: { 'platform:signingKeys': SIGNING_KEYS, 'platform:serviceKey': SERVICE_KEY },
    },
    dryRun: isPreview,
    read: (type) =>
      type === 'pulumi:pulumi:StackReference'
        ? {
            name: 'acme/platform/prod',
            outputs: isPreview ? UNKNOWN : { databaseUrl, sandboxImage: IMAGE },
          }
        : type.endsWith(':GatewayClass')
          ? (cluster.gatewayClass ?? {})
          : cluster.gateway,
  });
}

const objectsOf = ({ registrations }: ProgramResult) =>
  registrations.filter(({ type }) => type.startsWith('kubernetes:'));

function find({ registrations }: ProgramResult, name: string): Registration {
  const found = registrations.find((each) => each.name === name && each.type.startsWith('kubernetes:'));
  if (found === undefined) throw new Error(`nothing is named ${name}`);
  return found;
}

describe("Porthole in a platform team's program", () => {
  let up: ProgramResult;
  beforeAll(async () => {
    up = await run(DATABASE_URL);
  }, PATIENT);

  test('runs to its end without a word', () => {
    expect([up.succeeded, up.output]).toEqual([true, '']);
  });

  test("sends every object to the caller's provider and makes none", () => {
    const providers = up.registrations.filter(({ type }) => type === 'pulumi:providers:kubernetes');
    expect(providers.map(({ name }) => name)).toEqual(['cluster']);
    expect(objectsOf(up).length).toBeGreaterThan(40);
    for (const { provider } of objectsOf(up)) expect(provider).toContain(providers[0]?.urn);
  });

  test('attaches to the existing Gateway, and makes neither Gateway nor Certificate', () => {
    expect(objectsOf(up).filter(({ type }) => /:(Gateway|Certificate)$/.test(type))).toEqual([]);
    const parents = ['porthole-routes-api', 'porthole-routes-fallback'].map(
      (name) => (find(up, name).inputs['spec'] as { parentRefs: object[] }).parentRefs[0],
    );
    expect(parents).toMatchObject([
      { name: 'shared', namespace: 'edge', sectionName: 'web' },
      { name: 'shared', namespace: 'edge', sectionName: 'previews' },
    ]);
    expect(find(up, 'porthole-functions-environment').inputs['data']).toMatchObject({
      PORTHOLE_GATEWAY_LISTENER: 'previews',
      Sandbox__Preview__GatewayName: 'shared',
      Sandbox__Preview__GatewayNamespace: 'edge',
    });
    expect(JSON.stringify(find(up, 'porthole-admission-preview-routes').inputs)).toContain(
      "p.name == 'shared'",
    );
  });

  test('puts outputs where their settings go, and leaves no placeholder', () => {
    expect(secretTexts(find(up, 'porthole-functions-secrets'))).toEqual({
      DATABASE_URL,
      PORTHOLE_SIGNING_KEYS: SIGNING_KEYS,
      SANDBOX_API_KEY: SERVICE_KEY,
    });
    expect(find(up, 'porthole-functions-environment').inputs['data']).toMatchObject({
      PORTHOLE_PUBLIC_URL: 'https://porthole.example.com',
      PORTHOLE_SANDBOX_IMAGE: IMAGE,
      SANDBOX_IDLE_TIMEOUT_MINUTES: '15',
      PORTHOLE_QUOTAS: '{"default":{"sandboxes":3}}',
    });
    const all = JSON.stringify(objectsOf(up).map(({ inputs }) => inputs));
    expect(all).not.toContain('porthole-output-');
    expect(all).not.toContain('hunter2');
  });

  test('places the pods of the functions where the caller says', () => {
    const { template } = find(up, 'porthole-functions').inputs['spec'] as { template: { spec: object } };
    expect(template.spec).toMatchObject({
      nodeSelector: { pool: 'platform' },
      priorityClassName: 'platform',
    });
  });

  test('gives out what others need', () => {
    expect(up.outputs).toEqual({
      apiUrl: 'https://porthole.example.com',
      gatewayAddress: '203.0.113.7',
      gateway: { name: 'shared', namespace: 'edge', listener: 'previews' },
      namespaces: { previews: 'agentweaver', functions: 'porthole' },
      functions: {
        service: 'porthole',
        serviceAccount: 'porthole',
        configMaps: ['porthole'],
        secrets: ['porthole'],
      },
    });
  });
});

test(
  'shows in a preview all that does not depend on what is unknown',
  async () => {
    const preview = await run(undefined);
    expect([preview.succeeded, preview.output]).toEqual([true, '']);
    const unknown = objectsOf(preview).flatMap(({ name, inputs }) =>
      pathsWhere(
        inputs,
        (value) => value === UNKNOWN || (value instanceof Secret && value.reveal() === UNKNOWN),
      ).map((path) => `${name} ${path}`),
    );
    expect(unknown.toSorted()).toEqual([
      'porthole-functions spec.template.metadata.annotations.porthole.sandbox.users.io/environment-checksum',
      'porthole-functions-environment data.PORTHOLE_SANDBOX_IMAGE',
      'porthole-functions-secrets data',
    ]);
  },
  PATIENT,
);

test(
  'refuses an output with a value that no setting accepts, and shows no secret',
  async () => {
    const { succeeded, output } = await run('mysql://porthole:hunter2@db.example.com/porthole');
    expect(succeeded).toBe(false);
    expect(output).toContain('databaseUrl: must be a postgres:// URL');
    expect(output).not.toContain('hunter2');
  },
  PATIENT,
);

test(
  'refuses a Gateway of a class without the features of previews, in a preview too',
  async () => {
    const listeners = [{ name: 'previews' }, { name: 'web' }];
    const cluster = {
      gateway: { ...GATEWAY, spec: { gatewayClassName: 'plain', listeners } },
      gatewayClass: { status: { supportedFeatures: [{ name: 'HTTPRoute' }] } },
    };
    for (const databaseUrl of [undefined, DATABASE_URL]) {
      const { succeeded, output } = await run(databaseUrl, cluster);
      expect(succeeded).toBe(false);
      expect(output).toContain(
        'The Gateway edge/shared has a class that does not support HTTPRouteResponseHeaderModification',
      );
    }
  },
  PATIENT,
);
