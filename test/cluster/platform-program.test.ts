import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { copyProgram, installPacked } from '#test/support/packed-packages.ts';
import { DATABASE_URL, SERVICE_KEY, SIGNING_KEYS } from '../infra/support/stack-files.ts';
import { PulumiStack, type UpdateResult } from '../pulumi/pulumi-stack.ts';
import { stacksMissing } from '../pulumi/pulumi-tools.ts';
import { suite } from '../support/suite.ts';
import { issueCertificate, makeAuthority } from './fixture/certificate-authority.ts';
import { type Cluster, cluster } from './fixture/cluster.ts';
import { GATEWAY_CLASS } from './fixture/objects.ts';
import { importServingImage } from './serving-image.ts';

const NAME = `platform-${process.pid}`;
const EDGE = `${NAME}-edge`;
const DATA = `${NAME}-data`;
const OWN = [`${NAME}-previews`, `${NAME}-functions`];
const LISTENERS = {
  previews: `*.previews.${NAME}.test`,
  acme: `*.acme.${NAME}.test`,
  api: `porthole.${NAME}.test`,
};
const PATIENT = 300_000;

suite("a platform team's program on a real cluster, from the packed package", stacksMissing(), () => {
  let fixture: Cluster;
  let place: string;
  let stack: PulumiStack;
  const folder = mkdtempSync(join(tmpdir(), 'porthole-platform-'));

  const file = (config: object = {}) => ({
    config: { 'platform:name': NAME, ...config },
    secrets: { 'platform:signingKeys': SIGNING_KEYS, 'platform:serviceKey': SERVICE_KEY },
  });
  const touched = ({ changes }: Pick<UpdateResult, 'changes'>) =>
    changes.map(({ op, name }) => `${op} ${name}`).toSorted();
  const apply = (object: object) =>
    fixture.kubectl(['apply', '--server-side', '--filename=-'], JSON.stringify(object));

  beforeAll(async () => {
    fixture = await cluster();
    await importServingImage(fixture);
    place = await installPacked(['infra']);
    const source = join(import.meta.dirname, 'platform-program/main.ts');
    const main = await copyProgram(source, { place, target: 'main.ts', name: '@porthole/pulumi' });
    const { kubeconfig } = fixture;
    stack = new PulumiStack({ project: 'platform', stack: 'test', main, kubeconfig });
    await makeAuthority(folder);
    const request = { commonName: NAME, use: 'server', dnsNames: Object.values(LISTENERS) } as const;
    const { certificate, key } = await issueCertificate(folder, 'platform', request);
    for (const namespace of [EDGE, DATA]) await fixture.kubectl(['create', 'namespace', namespace]);
    await apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'tls', namespace: EDGE },
      type: 'kubernetes.io/tls',
      stringData: { 'tls.crt': certificate, 'tls.key': key },
    });
    await apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'database', namespace: DATA },
      stringData: { url: DATABASE_URL },
    });
    await apply({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name: 'shared', namespace: EDGE },
      spec: {
        gatewayClassName: GATEWAY_CLASS,
        listeners: Object.entries(LISTENERS).map(([name, hostname]) => ({
          name,
          hostname,
          port: fixture.gateway.https.port,
          protocol: 'HTTPS',
          tls: { mode: 'Terminate', certificateRefs: [{ name: 'tls' }] },
          allowedRoutes: { namespaces: { from: 'All' } },
        })),
      },
    });
    await fixture.kubectl([
      'wait',
      'gateway/shared',
      `--namespace=${EDGE}`,
      '--for=condition=Programmed',
      '--timeout=120s',
    ]);
  }, PATIENT);

  afterAll(async () => {
    // If a test failed: what `destroy` leaves.
    await stack?.destroy();
    const namespaces = ['delete', 'namespace', EDGE, DATA, ...OWN];
    await fixture.kubectl([...namespaces, '--ignore-not-found', '--wait=false']);
    stack?.close();
    await rm(folder, { recursive: true });
    await rm(place, { recursive: true, force: true });
  }, PATIENT);

  test(
    'creates everything but the Gateway',
    async () => {
      const up = await stack.up(file());
      expect([up.succeeded, up.log]).toEqual([true, []]);
      expect(await stack.outputs()).toEqual({
        apiUrl: `https://porthole.${NAME}.test`,
        previewZones: [`previews.${NAME}.test`, `acme.${NAME}.test`],
        gatewayAddress: fixture.gateway.https.host,
      });
      expect(new Set(up.changes.map(({ op }) => op))).toEqual(new Set(['create']));
      expect(up.changes.filter(({ type }) => /:(?:Gateway|Certificate)$/.test(type))).toEqual([]);
      const secret = ['get', 'secret/porthole', `--namespace=${NAME}-functions`];
      const url = await fixture.kubectl([...secret, '--output=jsonpath={.data.DATABASE_URL}']);
      expect(Buffer.from(url, 'base64').toString()).toBe(DATABASE_URL);
      expect(stack.state()).not.toContain(DATABASE_URL);
    },
    PATIENT,
  );

  test.each(['porthole-api', 'porthole-fallback', `porthole-fallback.acme.${NAME}.test`])(
    'has the route %s, which the Gateway accepts',
    async (route) => {
      for (const condition of ['Accepted', 'ResolvedRefs']) {
        const path = `jsonpath={.status.parents[0].conditions[?(@.type=="${condition}")].status}=True`;
        const wait = ['wait', `httproute/${route}`, `--for=${path}`, '--timeout=120s'];
        await fixture.kubectl([...wait, `--namespace=${NAME}-functions`]);
      }
    },
    PATIENT,
  );

  test(
    'changes nothing the second time',
    async () => {
      const { log, changes } = await stack.up(file());
      expect([log, changes]).toEqual([[], []]);
    },
    PATIENT,
  );

  test(
    'changes what another port range concerns, and nothing else',
    async () => {
      const narrowed = await stack.up(file({ 'platform:allowedPortMax': 8000 }));
      expect([narrowed.log, touched(narrowed)]).toEqual([
        [],
        [
          'update porthole-admission-preview-routes',
          'update porthole-admission-preview-services',
          'update porthole-functions',
          'update porthole-functions-environment',
          'update porthole-network-from-gateway',
        ],
      ]);
      await stack.up(file());
    },
    PATIENT,
  );

  test(
    'changes nothing where the component gets another name and an alias',
    async () => {
      const { succeeded, log, changes } = await stack.preview(file({ 'platform:component': 'sandboxes' }));
      expect([succeeded, log, changes]).toEqual([true, [], []]);
    },
    PATIENT,
  );

  test(
    'puts right what was changed by hand, without force',
    async () => {
      const policy = ['networkpolicy/porthole-sandboxes-closed', `--namespace=${NAME}-previews`];
      const patch = ['--type=merge', '--patch={"spec":{"policyTypes":["Ingress"]}}'];
      await fixture.kubectl(['patch', ...policy, ...patch]);
      const put = await stack.up(file(), { flags: ['--refresh'] });
      expect([put.log, touched(put)]).toEqual([[], ['update porthole-network-closed']]);
      expect(await fixture.kubectl(['get', ...policy, '--output=jsonpath={.spec.policyTypes}'])).toBe(
        '["Ingress","Egress"]',
      );
    },
    PATIENT,
  );

  test(
    'leaves the Gateway, the database and nothing else when it is destroyed',
    async () => {
      const { succeeded, log } = await stack.destroy();
      expect([succeeded, log]).toEqual([true, []]);
      expect(stack.resources()).toEqual([]);
      const all =
        'namespaces,validatingadmissionpolicies,validatingadmissionpolicybindings,clusterroles,clusterrolebindings,httproutes,networkpolicies';
      const found = await fixture.kubectl(['get', all, '--all-namespaces', '--output=name']);
      expect(found.split('\n').filter((name) => name.includes(NAME))).toEqual([
        `namespace/${DATA}`,
        `namespace/${EDGE}`,
      ]);
      const kept = ['get', 'gateways,secrets', `--namespace=${EDGE}`, '--output=name'];
      expect((await fixture.kubectl(kept)).trim().split('\n')).toEqual([
        'gateway.gateway.networking.k8s.io/shared',
        'secret/tls',
      ]);
    },
    PATIENT,
  );
});
