import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  collection,
  type JsonPatchOperation,
  type KubernetesObject,
} from '#adapters/kubernetes/client/kubernetes-object.ts';
import { SANDBOXES } from '#adapters/kubernetes/sandboxes/claim-state.ts';
import { sandboxClaimManifest } from '#constructs/sandbox-claim.ts';
import { suite } from '#test/support/suite.ts';
import type { Properties } from '../../pulumi/wire-values.ts';
import { definitionsMissing, installDefinitions } from '../agent-sandbox-stand-in/definitions.ts';
import type { Cluster } from '../fixture/cluster.ts';
import { type Actor, saidAgainst } from './actor.ts';
import { BAD_CLAIMS } from './bad-sandboxes.ts';
import { type GuardedStack, openGuardedStack } from './guarded-stack.ts';

/** What the policies refuse of claims and Sandboxes. They have their own stack, with a pool. */
export function claimAdmission(fixture: () => Cluster): void {
  suite('of Sandboxes of agent-sandbox', definitionsMissing(), () => {
    let claims: GuardedStack;
    let actor: Actor;
    const name = 'sandbox-abc';
    const there = () => collection(SANDBOXES, claims.config.namespaces.previews);
    const mode = (value: string): JsonPatchOperation => ({ op: 'add', path: '/spec/operatingMode', value });
    const change = (...operations: JsonPatchOperation[]) =>
      saidAgainst(actor.client.jsonPatch<KubernetesObject>(there(), name, operations));

    beforeAll(async () => {
      await installDefinitions(fixture().kubectl);
      claims = await openGuardedStack(fixture(), { warmPool: 'pool' });
      actor = await claims.as('porthole');
      await claims.admin.client.create(there(), {
        apiVersion: 'agents.x-k8s.io/v1beta1',
        kind: 'Sandbox',
        metadata: { name, labels: { app: 'sandbox' } },
        spec: { podTemplate: { spec: { containers: [{ name: 'sandbox', image: 'sandbox' }] } } },
      });
    }, 60_000);
    afterAll(() => claims.close());

    const claim = (warmPool = 'pool') =>
      sandboxClaimManifest({
        namespace: claims.config.namespaces.previews,
        sandboxId: 'abc',
        warmPool,
      }) as Properties;

    test('lets the functions claim one from a pool of the stack', async () => {
      expect(await actor.refusal('sandboxclaims', claim())).toBeUndefined();
    });

    test.each(BAD_CLAIMS)('refuses the functions a claim with %s', async (_, spoil, reason) => {
      expect(await actor.refusal('sandboxclaims', spoil(claim()))).toContain(reason);
    });

    test('lets the functions stop and resume one', async () => {
      expect(await change(mode('Suspended'))).toBeUndefined();
      expect(await change(mode('Running'))).toBeUndefined();
    });

    const inPod = '/spec/podTemplate/spec';
    test.each<[what: string, operation: JsonPatchOperation]>([
      ['another image', { op: 'replace', path: `${inPod}/containers/0/image`, value: 'evil' }],
      [
        'a path of its node',
        { op: 'add', path: `${inPod}/volumes`, value: [{ name: 'root', hostPath: { path: '/' } }] },
      ],
      ['a service account', { op: 'add', path: `${inPod}/serviceAccountName`, value: 'builder' }],
      [
        'labels for its pod',
        { op: 'add', path: '/spec/podTemplate/metadata', value: { labels: { app: 'api' } } },
      ],
      ['a Service', { op: 'add', path: '/spec/service', value: true }],
      ['another end', { op: 'add', path: '/spec/shutdownTime', value: '2999-01-01T00:00:00Z' }],
    ])('refuses them %s, also beside another mode', async (_, operation) => {
      expect(await change(operation)).toContain('changed sandbox');
      expect(await change(mode('Suspended'), operation)).toContain('changed sandbox');
    });

    test.each<[what: string, operation: JsonPatchOperation]>([
      ['labels', { op: 'add', path: '/metadata/labels/app', value: 'other' }],
      [
        'an annotation',
        { op: 'add', path: '/metadata/annotations', value: { 'agents.x-k8s.io/pod-name': 'database-0' } },
      ],
      [
        'another owner',
        {
          op: 'add',
          path: '/metadata/ownerReferences',
          value: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: '0' }],
        },
      ],
      ['a finalizer', { op: 'add', path: '/metadata/finalizers', value: ['evil.test/never'] }],
    ])('refuses them %s', async (_, operation) => {
      expect(await change(operation)).toContain('changed owner');
    });
  });
}
