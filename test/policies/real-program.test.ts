import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Yaml } from 'cdk8s';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import { type ProgramResult, runProgram, type StackFile } from '../infra/engine/run-program.ts';
import { MAIN, stackFile, values } from '../infra/support/stack-files.ts';
import { type PolicyPack, startPolicyPack, type Decision } from './engine/policy-pack.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Time that the start of a program takes on a busy machine. */
const PATIENT = 180_000;

/** A Gateway of others, to which a ListenerSet may be attached. */
const SHARED = {
  spec: { allowedListeners: { namespaces: { from: 'All' } } },
  status: { conditions: [{ type: 'Programmed', status: 'True' }] },
};

const BROKEN = join(import.meta.dirname, 'programs/broken.ts');

/** A stack file of this repository, with the secrets that must not be committed. */
function committed(stack: 'dev' | 'prod'): StackFile {
  const [{ config }] = Yaml.load(join(ROOT, `Pulumi.${stack}.yaml`)) as [{ config: Record<string, unknown> }];
  return { ...stackFile(), config };
}

/**
 * Runs a program under a pack: a mandatory violation stops it before the resource is created, as
 * the command line does.
 */
async function observed(
  pack: PolicyPack,
  main: string,
  file: StackFile,
): Promise<ProgramResult & { readonly decisions: readonly Decision[]; readonly made: readonly string[] }> {
  const decisions: Decision[] = [];
  const made: string[] = [];
  const result = await runProgram({
    project: 'porthole',
    stack: 'test',
    main,
    stackFile: file,
    dryRun: true,
    read: async () => SHARED,
    register: async (registration) => {
      const found = await pack.evaluate(registration);
      decisions.push(...found);
      const [stopped] = found.filter(({ level }) => level === 'mandatory');
      if (stopped !== undefined) throw new Error(`[${stopped.policy}] ${stopped.message}`);
      made.push(registration.name);
      return { id: undefined, outputs: registration.inputs };
    },
  });
  decisions.push(...(await pack.evaluateStack(result.registrations)));
  return { ...result, decisions, made };
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
      const { succeeded, decisions, made } = await observed(pack, MAIN, committed('prod'));
      expect({ succeeded, decisions }).toEqual({ succeeded: true, decisions: [] });
      expect(made).toContain('porthole-sandboxes-template-sandbox');
      expect(made).toContain('porthole-routes-fallback');
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
      const { succeeded, decisions, made } = await observed(pack, MAIN, {
        ...file,
        config: { ...file.config, 'porthole:browsers': browsers },
      });
      expect({ succeeded, decisions }).toEqual({ succeeded: true, decisions: [] });
      expect(made).toContain('porthole-browsers');
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
      const { succeeded, decisions, made } = await observed(pack, MAIN, {
        ...file,
        config: { ...file.config, ...config },
      });
      expect({ succeeded, decisions }).toEqual({ succeeded: true, decisions: [] });
      expect(made).toContain(expected);
    },
    PATIENT,
  );

  test(
    'stops the images of development, unless its configuration lets them pass',
    async () => {
      const { succeeded, registrations, decisions } = await observed(lenient, MAIN, committed('dev'));
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

  test(
    'stops a broken program before the resource is made, and says which policy and why',
    async () => {
      const { succeeded, made, log } = await observed(pack, BROKEN, committed('prod'));
      expect(succeeded).toBe(false);
      expect(made).toContain('porthole-network-closed');
      expect(made).not.toContain('tap');
      const messages = log.map(({ message }) => message).join('\n');
      expect(messages).toContain('[no-wildcard-rbac]');
      expect(messages).toContain('It grants * in apiGroups.');
    },
    PATIENT,
  );
});
