import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Yaml } from 'cdk8s';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import { MAIN, type StackFile, stackFile, values } from '../infra/support/stack-files.ts';
import { PulumiStack, type UpdateResult } from '../pulumi/pulumi-stack.ts';
import { pulumiMissing } from '../pulumi/pulumi-tools.ts';
import { type ProgramResult, recordProgram } from '../pulumi/record-program.ts';
import { suite } from '../support/suite.ts';
import { type PolicyPack, startPolicyPack, type Decision } from './engine/policy-pack.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Time that the start of a program takes on a busy machine. */
const PATIENT = 180_000;

/** A Gateway of others, to which a ListenerSet may be attached. */
const SHARED = {
  spec: { allowedListeners: { namespaces: { from: 'All' } } },
  status: { conditions: [{ type: 'Programmed', status: 'True' }] },
};

const PACK = join(ROOT, 'policies');
const BROKEN = join(import.meta.dirname, 'programs/broken.ts');

/** A stack file of this repository, with the secrets that must not be committed. */
function committed(stack: 'dev' | 'prod'): StackFile {
  const [{ config }] = Yaml.load(join(ROOT, `Pulumi.${stack}.yaml`)) as [{ config: Record<string, unknown> }];
  return { ...stackFile(), config };
}

/** Runs the program, and a pack on all that it declares. */
async function observed(
  pack: PolicyPack,
  stackFile: StackFile,
): Promise<
  ProgramResult & { readonly decisions: readonly Decision[]; readonly declared: readonly string[] }
> {
  const start = { project: 'porthole', stack: 'test', main: MAIN, dryRun: true };
  const result = await recordProgram({ ...start, stackFile, read: () => SHARED });
  const { registrations } = result;
  const single = await Promise.all(registrations.map((each) => pack.evaluate(each)));
  const decisions = [...single.flat(), ...(await pack.evaluateStack(registrations))];
  return { ...result, decisions, declared: registrations.map(({ name }) => name) };
}

describe.each(['dev', 'prod'] as const)('the stack file of %s', (stack) => {
  test('is one that the program accepts', () => {
    expect(readStackConfig(values(committed(stack)), () => true).zone).toMatch(/^preview/);
  });
});

describe('the pack', () => {
  let pack: PolicyPack;
  let lenient: PolicyPack;
  beforeAll(async () => {
    [pack, lenient] = await Promise.all([startPolicyPack(), startPolicyPack(['pinned-images'])]);
  }, PATIENT);
  afterAll(() => Promise.all([pack.close(), lenient.close()]));

  test(
    'passes everything that the real program declares for production',
    async () => {
      const { succeeded, decisions, declared } = await observed(pack, committed('prod'));
      expect({ succeeded, decisions }).toEqual({ succeeded: true, decisions: [] });
      expect(declared).toContain('porthole-sandboxes-template-sandbox');
      expect(declared).toContain('porthole-routes-fallback');
    },
    PATIENT,
  );

  const image = (name: string) => `registry.example.com/${name}@sha256:${'a'.repeat(64)}`;
  test.each(['RuntimeDefault', 'Localhost'])(
    'passes browsers with the seccomp profile %s',
    async (profile) => {
      const file = committed('prod');
      const browsers = {
        image: image('browsers'),
        ...(profile === 'Localhost' && { seccompProfile: 'chromium.json' }),
      };
      const { succeeded, decisions, declared } = await observed(pack, {
        ...file,
        config: { ...file.config, 'porthole:browsers': browsers },
      });
      expect({ succeeded, decisions }).toEqual({ succeeded: true, decisions: [] });
      expect(declared).toContain('porthole-browsers');
    },
    PATIENT,
  );

  const gateway = {
    podNamespace: 'traefik',
    podLabels: { app: 'traefik' },
    existing: { name: 'edge', namespace: 'traefik' },
  };
  test.each<[what: string, config: Readonly<Record<string, unknown>>, made: string]>([
    [
      'sandboxes with a catalogue, the image of the guest and egress to ranges with metadata addresses',
      {
        'porthole:sandboxes': {
          image: image('sandbox'),
          images: { node: { reference: image('node') } },
          guestImage: image('guest'),
          egress: ['169.0.0.0/8', '100.64.0.0/10', '168.63.0.0/16', '192.0.0.0/16', 'fd00::/8', '10.0.0.0/8'],
        },
      },
      'porthole-network-egress',
    ],
    ['a broker', { 'porthole:broker': { egress: ['10.0.0.0/8'] } }, 'porthole-broker'],
    ...['ListenerSet', 'XListenerSet'].map((listenerSet): [string, Record<string, unknown>, string] => [
      `a ${listenerSet}`,
      { 'porthole:gateway': { ...gateway, listenerSet } },
      'porthole-gateway-listeners',
    ]),
  ])(
    'passes %s',
    async (_, config, expected) => {
      const file = committed('prod');
      const { succeeded, decisions, declared } = await observed(pack, {
        ...file,
        config: { ...file.config, ...config },
      });
      expect({ succeeded, decisions }).toEqual({ succeeded: true, decisions: [] });
      expect(declared).toContain(expected);
    },
    PATIENT,
  );

  test(
    'stops the images of development, unless its configuration lets them pass',
    async () => {
      const { succeeded, registrations, decisions } = await observed(lenient, committed('dev'));
      expect({ succeeded, decisions }).toEqual({ succeeded: true, decisions: [] });
      const strict = await Promise.all(
        registrations.map(async (each) =>
          (await pack.evaluate(each)).map(({ policy, message }) => [
            policy,
            each.name,
            message.split('\n')[1],
          ]),
        ),
      );
      expect(strict.flat()).toEqual([
        [
          'pinned-images',
          'porthole-functions-environment',
          'The image of sandboxes is porthole/sandbox:dev.',
        ],
        ['pinned-images', 'porthole-functions', 'The image of functions is porthole/functions:dev.'],
        ['pinned-images', 'porthole-reaper', 'The image of reaper is porthole/functions:dev.'],
        ['pinned-images', 'porthole-lifecycle', 'The image of lifecycle is porthole/functions:dev.'],
        ['pinned-images', 'porthole-snapshots', 'The image of snapshots-clean is porthole/functions:dev.'],
      ]);
    },
    PATIENT,
  );
});

suite("the pack under Pulumi's command line, without a cluster", pulumiMissing(), () => {
  async function preview(main: string, file: StackFile, ...flags: string[]): Promise<UpdateResult> {
    const stack = new PulumiStack({ project: 'porthole', stack: 'test', main });
    try {
      return await stack.preview(file, { flags: [`--policy-pack=${PACK}`, ...flags] });
    } finally {
      stack.close();
    }
  }

  test(
    'stops the images of development, and says which and why',
    async () => {
      const { succeeded, output, violations } = await preview(MAIN, committed('dev'));
      expect([succeeded, new Set(violations.map(({ policy }) => policy))]).toEqual([
        false,
        new Set(['pinned-images']),
      ]);
      expect(output).toContain('The image of sandboxes is porthole/sandbox:dev.');
    },
    PATIENT,
  );

  test(
    'lets them pass with the configuration of the pack for development',
    async () => {
      const config = join(PACK, 'dev.json');
      const result = await preview(MAIN, committed('dev'), `--policy-pack-config=${config}`);
      expect([result.succeeded, result.violations]).toEqual([true, []]);
      expect(result.changes.map(({ name }) => name)).toContain('porthole-routes-fallback');
    },
    PATIENT,
  );

  test(
    'stops a broken program, and says which policy and why',
    async () => {
      const { succeeded, violations } = await preview(BROKEN, committed('dev'));
      expect(succeeded).toBe(false);
      expect(violations).toContainEqual(
        expect.objectContaining({
          policy: 'no-wildcard-rbac',
          level: 'mandatory',
          name: 'tap',
          message: expect.stringContaining('It grants * in apiGroups.'),
        }),
      );
    },
    PATIENT,
  );
});
