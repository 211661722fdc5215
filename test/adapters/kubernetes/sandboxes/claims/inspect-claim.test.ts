import { expect, test } from '@jest/globals';
import { AgentSandboxProvider } from '#adapters/kubernetes/sandboxes/agent-sandbox-provider.ts';
import type { KubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { annotated } from '#adapters/kubernetes/sandboxes/cluster-objects.ts';
import { sandboxObjectName } from '#constructs/names.ts';
import type { SandboxProvider } from '#core/sandboxes/sandbox-provider.ts';
import { withGuests } from '#test/support/with-guests.ts';

const id = 'abcdefghijklmnopqrstuvwxyz';
const labels = { 'app.kubernetes.io/managed-by': 'porthole' };
const named = (name: string) => ({
  name,
  uid: 'u',
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
});
const condition = (status: string, reason: string) => ({
  conditions: [{ type: 'Ready', status, reason, message: 'so it is' }],
});

const ours = annotated({ metadata: { ...named(sandboxObjectName(id)), labels } }, id);

/** What is observed of a claim and its Sandbox with these statuses. */
const inspected = (claimSays: object, sandboxSays: object, spec: { readonly operatingMode?: string } = {}) =>
  withObjects(
    {
      sandboxclaims: { ...ours, status: { ...claimSays, sandbox: { name: 'pool-ab12c' } } },
      sandboxes: { metadata: named('pool-ab12c'), spec, status: sandboxSays },
    },
    (provider) => provider.inspect(id),
  );

/** A provider in a cluster with one object of each kind. */
async function withObjects<T>(
  objects: Readonly<Record<string, object>>,
  work: (provider: SandboxProvider) => Promise<T>,
): Promise<T> {
  const client = {
    get: ({ plural }: { readonly plural: string }) => Promise.resolve(objects[plural]),
  } as unknown as KubernetesClient;
  const provider = withGuests(
    new AgentSandboxProvider({
      client,
      access: { server: 'https://127.0.0.1:1' },
      namespace: 'sandboxes',
      warmPool: 'pool',
      guest: { keys: { publicKeys: '', sign: () => undefined }, reach: 'address' },
    }),
  );
  try {
    return await work(provider);
  } finally {
    await provider.close();
  }
}

const ready = condition('True', 'DependenciesReady');
const coming = condition('False', 'DependenciesNotReady');
const suspended = condition('False', 'SandboxSuspended');

test.each<[string, object, object, { operatingMode?: string }, object]>([
  ['one that was just resumed, before its claim is updated', coming, ready, {}, { state: 'running' }],
  ['one that its claim still calls suspended', suspended, ready, {}, { state: 'running' }],
  [
    'one that will be suspended and that its claim still calls ready',
    ready,
    ready,
    { operatingMode: 'Suspended' },
    { state: 'stopped' },
  ],
  [
    'one with a pod that failed after its claim was evaluated',
    ready,
    condition('False', 'PodFailed'),
    {},
    { state: 'stopped', reason: 'PodFailed: so it is' },
  ],
  [
    'one that comes up',
    suspended,
    coming,
    {},
    { state: 'creating', reason: 'DependenciesNotReady: so it is' },
  ],
])('the Sandbox itself is believed: %s', async (_title, claim, sandbox, spec, seen) => {
  expect(await inspected(claim, sandbox, spec)).toEqual({ podName: 'pool-ab12c', ...seen });
});

test.each<[string, (provider: SandboxProvider) => Promise<unknown>]>([
  ['inspecting', (provider) => provider.inspect(id)],
  ['deleting', (provider) => provider.destroy(id)],
])('%s a sandbox of the provider kubernetes names that provider', async (_title, work) => {
  await expect(withObjects({ pods: ours }, work)).rejects.toMatchObject({
    code: 'service_unavailable',
    message: expect.stringContaining('a pod of the provider kubernetes'),
    retryable: false,
  });
});
