import { expect, test } from '@jest/globals';
import { sandboxClaimManifest } from '#constructs/sandbox-claim.ts';

const PROPS = { namespace: 'previews', sandboxId: 'box', warmPool: 'python' };

test('takes a sandbox from its pool and labels its pod, without fields that would force a cold start', () => {
  expect(sandboxClaimManifest(PROPS)).toEqual({
    apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
    kind: 'SandboxClaim',
    metadata: {
      name: 'sandbox-box',
      namespace: 'previews',
      labels: {
        'app.kubernetes.io/managed-by': 'porthole',
        'app.kubernetes.io/component': 'sandbox',
        'porthole.sandbox.users.io/sandbox': 'box',
      },
    },
    spec: {
      warmPoolRef: { name: 'python' },
      additionalPodMetadata: { labels: { 'porthole.sandbox.users.io/sandbox': 'box' } },
      lifecycle: { shutdownPolicy: 'Delete' },
    },
  });
});

test('labels the pod of a claim that has network access', () => {
  expect(sandboxClaimManifest({ ...PROPS, network: true })).toMatchObject({
    spec: {
      additionalPodMetadata: {
        labels: {
          'porthole.sandbox.users.io/sandbox': 'box',
          'porthole.sandbox.users.io/network': 'internet',
        },
      },
    },
  });
});

test('sets the shutdown time of a claim', () => {
  const claim = sandboxClaimManifest({
    ...PROPS,
    shutdownTime: new Date('2026-03-01T12:00:00Z'),
    shutdownPolicy: 'Retain',
  });
  expect(claim).toMatchObject({
    spec: { lifecycle: { shutdownPolicy: 'Retain', shutdownTime: '2026-03-01T12:00:00.000Z' } },
  });
});

test('rejects a claim without a pool and names the missing field', () => {
  expect(() => sandboxClaimManifest({ ...PROPS, warmPool: '' })).toThrow(
    'SandboxClaim.warmPool must name a SandboxWarmPool; one of 0 replicas makes every claim cold.',
  );
});
