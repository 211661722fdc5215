import { expect, test } from '@jest/globals';
import {
  type Claim,
  podNameOf,
  claimState,
  sandboxReadiness,
} from '#adapters/kubernetes/sandboxes/claim-state.ts';

const metadata = {
  name: 'c',
  uid: 'u',
  resourceVersion: '1',
  generation: 2,
  creationTimestamp: '2026-01-01T00:00:00Z',
};
const sandbox = { name: 'pool-ab12c' };
const describeCondition = (status: string, reason: string, more: object = {}) => ({
  conditions: [{ type: 'Ready', status, reason, message: 'so it is', ...more }],
});

test.each<[string, Claim | undefined, object]>([
  ['no claim', undefined, { state: 'absent' }],
  ['a claim without a status', { metadata }, { state: 'creating', reason: 'its claim is not bound yet' }],
  [
    'a claim with a ready Sandbox',
    { metadata, status: { ...describeCondition('True', 'DependenciesReady'), sandbox } },
    { state: 'bound', sandbox: 'pool-ab12c' },
  ],
  [
    'a ready claim that names no Sandbox',
    { metadata, status: describeCondition('True', 'DependenciesReady') },
    { state: 'creating', reason: 'its claim is not bound yet' },
  ],
  [
    'a claim with a Sandbox that starts',
    { metadata, status: { ...describeCondition('False', 'DependenciesNotReady'), sandbox } },
    { state: 'creating', sandbox: 'pool-ab12c', reason: 'DependenciesNotReady: so it is' },
  ],
  [
    'a claim with a suspended Sandbox',
    { metadata, status: { ...describeCondition('False', 'SandboxSuspended'), sandbox } },
    { state: 'suspended', sandbox: 'pool-ab12c' },
  ],
  [
    'a claim with a condition of an earlier generation',
    {
      metadata,
      status: { ...describeCondition('False', 'InvalidMetadata', { observedGeneration: 1 }), sandbox },
    },
    { state: 'creating' },
  ],
  [
    'a claim on its way out',
    {
      metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
      status: { ...describeCondition('True', 'x'), sandbox },
    },
    { state: 'ending', reason: 'its removal has begun' },
  ],
])('%s', (_title, claim, state) => {
  expect(claimState(claim)).toMatchObject(state);
});

test.each([
  'WarmPoolNotFound',
  'TemplateNotFound',
  'InvalidMetadata',
  'EnvVarsInjectionRejected',
  'VolumeClaimTemplatesError',
  'InvalidConfiguration',
  'ClaimExpired',
  'SandboxExpired',
  'PodFailed',
  'PodSucceeded',
])('treats a claim with the reason %s as permanently failed', (reason) => {
  const claim = { metadata, status: describeCondition('False', reason) };
  expect(claimState(claim)).toEqual({ state: 'failed', reason: `${reason}: so it is`, sandbox: undefined });
});

test('reports a Sandbox as ready once its controller has observed its current generation', () => {
  expect(sandboxReadiness({ metadata, status: describeCondition('True', 'DependenciesReady') })).toEqual({
    state: 'ready',
    podName: 'c',
  });
  expect(
    sandboxReadiness({
      metadata,
      status: describeCondition('True', 'DependenciesReady', { observedGeneration: 1 }),
    }),
  ).toEqual({ state: 'waiting', reason: 'its Sandbox is coming up' });
  expect(sandboxReadiness({ metadata, status: describeCondition('False', 'PodFailed') })).toEqual({
    state: 'failed',
    reason: 'PodFailed: so it is',
  });
  expect(sandboxReadiness(undefined)).toEqual({ state: 'failed', reason: 'its Sandbox has gone' });
});

test.each([
  ['is the Sandbox’s', {}, 'c'],
  ['is the Sandbox’s where the annotation is empty', { 'agents.x-k8s.io/pod-name': '' }, 'c'],
  ['is what the annotation says', { 'agents.x-k8s.io/pod-name': 'other' }, 'other'],
])('returns a pod name that %s', (_title, annotations, name) => {
  expect(podNameOf({ metadata: { ...metadata, annotations } })).toBe(name);
});
