import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MAIN } from '../infra/support/stack-files.ts';
import { PulumiStack, type UpdateResult } from '../pulumi/pulumi-stack.ts';
import { stacksMissing } from '../pulumi/pulumi-tools.ts';
import { suite } from '../support/suite.ts';
import { type Cluster, cluster } from './fixture/cluster.ts';
import { BUSYBOX_IMAGE } from './fixture/fixture-images.ts';
import { createGatewayCertificate } from './gateway-certificate.ts';
import { importServingImage } from './serving-image.ts';
import { servingStackFile } from './serving-stack.ts';

const PATIENT = 300_000;
const STACKS = ['journey-one', 'journey-two'] as const;
type Name = (typeof STACKS)[number];

const namespacesOf = (name: Name) => ({
  previews: `${name}-previews`,
  gateway: `${name}-gateway`,
  functions: `${name}-functions`,
});
const touched = ({ changes }: Pick<UpdateResult, 'changes'>) =>
  changes.map(({ op, name }) => `${op} ${name}`).toSorted();
const errorsOf = ({ log }: Pick<UpdateResult, 'log'>) =>
  log.filter(({ severity }) => severity === 'error').map(({ message }) => message);

suite('two stacks on one cluster', stacksMissing(), () => {
  let fixture: Cluster;
  let stacks: Readonly<Record<Name, PulumiStack>>;
  const folder = mkdtempSync(join(tmpdir(), 'porthole-journeys-'));

  const file = (name: Name, more: Readonly<Record<string, unknown>> = {}) =>
    servingStackFile(
      fixture,
      { zone: `${name}.preview.test`, apiHost: `${name}.porthole.test`, namespaces: namespacesOf(name) },
      more,
    );

  beforeAll(async () => {
    fixture = await cluster();
    await importServingImage(fixture);
    const { kubeconfig } = fixture;
    const create = (stack: Name) => new PulumiStack({ project: 'porthole', stack, main: MAIN, kubeconfig });
    stacks = { 'journey-one': create('journey-one'), 'journey-two': create('journey-two') };
    for (const name of STACKS) {
      const dnsNames = [`*.${name}.preview.test`, `${name}.porthole.test`] as const;
      const { gateway: namespace } = namespacesOf(name);
      await createGatewayCertificate(fixture.kubectl, { folder, namespace, dnsNames });
    }
  }, PATIENT);

  afterAll(async () => {
    for (const name of STACKS) {
      // If a test failed: what `destroy` leaves.
      await stacks[name].destroy();
      stacks[name].close();
      const namespaces = Object.values(namespacesOf(name));
      await fixture.kubectl(['delete', 'namespace', ...namespaces, '--ignore-not-found', '--wait=false']);
    }
    rmSync(folder, { recursive: true });
  }, PATIENT);

  test(
    'completes a first update that was killed',
    async () => {
      const [, two] = STACKS;
      const killed = await stacks[two].up(file(two), { killedAt: /porthole-admission-\S+ created/ });
      expect(killed.succeeded).toBe(false);
      // As docs/guides/deploy-operations.md says.
      await stacks[two].run('cancel', '--yes');
      const cleared = await stacks[two].refresh(file(two), { flags: ['--clear-pending-creates'] });
      expect([cleared.succeeded, errorsOf(cleared)]).toEqual([true, []]);
      const env = { PULUMI_K8S_UPSERT_EXISTING_OBJECTS: 'true' };
      const repeated = await stacks[two].up(file(two), { env });
      expect([repeated.succeeded, errorsOf(repeated)]).toEqual([true, []]);
      const again = await stacks[two].up(file(two));
      expect([again.succeeded, again.log, again.changes]).toEqual([true, [], []]);
    },
    PATIENT,
  );

  test(
    'brings up another, and changes nothing of the first',
    async () => {
      const [one, two] = STACKS;
      const { succeeded, log, changes } = await stacks[one].up(file(one));
      expect([succeeded, log]).toEqual([true, []]);
      expect(new Set(changes.map(({ op }) => op))).toEqual(new Set(['create']));
      for (const name of [one, two]) {
        const refreshed = await stacks[name].refresh(file(name));
        expect([refreshed.succeeded, refreshed.log, refreshed.changes]).toEqual([true, [], []]);
      }
    },
    PATIENT,
  );

  test.each<[what: string, more: Readonly<Record<string, unknown>>, changes: readonly string[]]>([
    [
      'image of sandboxes',
      { 'porthole:sandboxes': { image: 'porthole.test/sandbox:next' } },
      ['update porthole-functions', 'update porthole-functions-environment'],
    ],
    [
      'image of functions',
      { 'porthole:functions': { image: 'porthole.test/functions:next', cpu: '10m' } },
      [
        'update porthole-functions',
        'update porthole-lifecycle',
        'update porthole-reaper',
        'update porthole-snapshots',
      ],
    ],
    [
      'number of previews',
      { 'porthole:preview': { maxTotal: 7 } },
      ['update porthole-functions', 'update porthole-functions-environment', 'update porthole-quota'],
    ],
    [
      'zone',
      { 'porthole:zone': 'next.preview.test' },
      [
        'replace porthole-namespaces-zone',
        'update porthole-admission-preview-routes',
        'update porthole-admission-zone-claims',
        'update porthole-functions',
        'update porthole-functions-environment',
        'update porthole-gateway',
        'update porthole-routes-fallback',
      ],
    ],
  ])(
    'shows in a preview what another %s changes',
    async (_, more, changes) => {
      const preview = await stacks['journey-one'].preview(file('journey-one', more));
      expect([preview.succeeded, preview.log, touched(preview)]).toEqual([true, [], changes]);
    },
    PATIENT,
  );

  test.each<[what: string, more: Readonly<Record<string, unknown>>, says: RegExp]>([
    [
      'a zone of another stack',
      { 'porthole:zone': 'journey-two.preview.test' },
      /belongs to the installation in namespace journey-two-functions\. Choose another zone/,
    ],
  ])(
    'refuses %s, and says why',
    async (_, more, says) => {
      const up = await stacks['journey-one'].up(file('journey-one', more));
      expect(up.succeeded).toBe(false);
      expect(up.output).toMatch(says);
      const back = await stacks['journey-one'].up(file('journey-one'));
      expect([back.succeeded, back.log]).toEqual([true, []]);
    },
    PATIENT,
  );

  test(
    'destroys a stack with live sandboxes, and nothing of the other',
    async () => {
      const { previews } = namespacesOf('journey-one');
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'live', namespace: previews },
        spec: {
          automountServiceAccountToken: false,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 1000,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              name: 'live',
              image: BUSYBOX_IMAGE,
              command: ['sleep', '3600'],
              securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
            },
          ],
        },
      };
      await fixture.kubectl(['create', '--filename=-'], JSON.stringify(pod));
      const { succeeded, log } = await stacks['journey-one'].destroy();
      expect([succeeded, log, stacks['journey-one'].resources()]).toEqual([true, [], []]);
      const all =
        'namespaces,pods,validatingadmissionpolicies,validatingadmissionpolicybindings,clusterroles,httproutes,gateways';
      const left = await fixture.kubectl(['get', all, '--all-namespaces', '--output=name']);
      expect(left.split('\n').filter((name) => name.includes('journey-one'))).toEqual([
        'namespace/journey-one-gateway',
      ]);
      const other = await stacks['journey-two'].refresh(file('journey-two'));
      expect([other.succeeded, other.changes]).toEqual([true, []]);
    },
    PATIENT,
  );
});
