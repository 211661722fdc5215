import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MAIN } from '../infra/support/stack-files.ts';
import { PulumiStack } from '../pulumi/pulumi-stack.ts';
import { stacksMissing } from '../pulumi/pulumi-tools.ts';
import { suite } from '../support/suite.ts';
import { type Cluster, cluster } from './fixture/cluster.ts';
import { createGatewayCertificate } from './gateway-certificate.ts';
import { importServingImage } from './serving-image.ts';
import { servingStackFile } from './serving-stack.ts';

const PATIENT = 300_000;
/** Time that an update which cannot succeed may take, on a busy machine. */
const SOON = 60_000;
const NAMESPACES = {
  previews: 'refused-previews',
  gateway: 'refused-gateway',
  functions: 'refused-functions',
};

suite('updates that cannot succeed', stacksMissing(), () => {
  let fixture: Cluster;
  const stacks: PulumiStack[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'porthole-refusals-'));

  const file = (more: Readonly<Record<string, unknown>> = {}) =>
    servingStackFile(
      fixture,
      { zone: 'refused.preview.test', apiHost: 'refused.porthole.test', namespaces: NAMESPACES },
      more,
    );
  const open = (kubeconfig?: string): PulumiStack => {
    const stack = new PulumiStack({
      project: 'porthole',
      stack: `refused-${stacks.length}`,
      main: MAIN,
      ...(kubeconfig !== undefined && { kubeconfig }),
    });
    stacks.push(stack);
    return stack;
  };

  beforeAll(async () => {
    fixture = await cluster();
    await importServingImage(fixture);
    const dnsNames = ['*.refused.preview.test', 'refused.porthole.test'] as const;
    await createGatewayCertificate(fixture.kubectl, { folder, namespace: NAMESPACES.gateway, dnsNames });
  }, PATIENT);

  afterAll(async () => {
    for (const stack of stacks) {
      await stack.destroy();
      stack.close();
    }
    await fixture.kubectl(['delete', 'namespace', ...Object.values(NAMESPACES), '--ignore-not-found']);
    rmSync(folder, { recursive: true });
  }, PATIENT);

  test.each<[what: string, kubeconfig: () => string | undefined, says: RegExp]>([
    ['no cluster', () => undefined, /Kubernetes cluster is unreachable/],
    [
      'no rights',
      () => join(dirname(fixture.kubeconfig), 'dns.kubeconfig'),
      /clusterroles\.rbac\.authorization\.k8s\.io .*is forbidden: User/,
    ],
  ])(
    'ends soon with %s',
    async (_, kubeconfig, says) => {
      const began = performance.now();
      const { succeeded, output } = await open(kubeconfig()).up(file());
      expect(output).toMatch(says);
      expect(succeeded).toBe(false);
      expect(performance.now() - began).toBeLessThan(SOON);
    },
    PATIENT,
  );

  test('ends soon without cert-manager', async () => {
    const certificates = { issuer: { name: 'letsencrypt' } };
    const stack = open(fixture.kubeconfig);
    const { succeeded, output } = await stack.up(file({ 'porthole:certificates': certificates }));
    expect(output).toMatch(/porthole-needs-cert-manager[^]*'certificates\.cert-manager\.io' does not exist/);
    expect(succeeded).toBe(false);
    // Its zone.
    await stack.destroy();
  });

  test(
    'ends soon with a class that is not there, and a second update mends it',
    async () => {
      const stack = open(fixture.kubeconfig);
      const began = performance.now();
      const gateway = { className: 'none', podNamespace: 'gateways', podLabels: { app: 'gateway' } };
      const { succeeded, output } = await stack.up(file({ 'porthole:gateway': gateway }));
      expect(output).toMatch(/porthole-gateway-className[^]*'none' does not exist/);
      expect(succeeded).toBe(false);
      expect(performance.now() - began).toBeLessThan(SOON);
      const mended = await stack.up(file());
      expect([mended.succeeded, mended.log]).toEqual([true, []]);
    },
    PATIENT,
  );
});
