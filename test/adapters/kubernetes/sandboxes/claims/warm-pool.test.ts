/** A SandboxWarmPool beside callers that find no capacity. */
import { expect, test } from '@jest/globals';
import type { KubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { createAgentSandboxPool } from '#adapters/kubernetes/sandboxes/claim-pool.ts';
import { poolConfig } from '#test/support/warm-pools.ts';

/** A pool with this number of replicas, and claims that are bound or waiting. */
function world(replicas: number, claims: readonly ('bound' | 'waiting')[], warmTarget = 3) {
  const state = { replicas };
  const client = {
    get: async () => ({ metadata: { name: 'pool' }, spec: { replicas: state.replicas } }),
    async mergePatch(_from: unknown, name: string, patch: { spec: { replicas: number } }) {
      expect(name).toBe('pool/scale');
      state.replicas = patch.spec.replicas;
    },
    async *list() {
      for (const [at, claim] of claims.entries()) {
        const status = claim === 'bound' ? 'True' : 'False';
        yield {
          metadata: { name: `claim-${at}` },
          status: { conditions: [{ type: 'Ready', status }], sandbox: { name: `sandbox-${at}` } },
        };
      }
    },
  } as unknown as KubernetesClient;
  const config = poolConfig({ warmTarget });
  return { state, pool: createAgentSandboxPool({ client, namespace: 'ns', warmPool: 'pool', config }) };
}

test('is filled where no caller waits', async () => {
  const { state, pool } = world(0, ['bound']);
  await pool.prime();
  expect(state.replicas).toBe(3);
});

test('is not filled while a caller waits for a sandbox', async () => {
  const { state, pool } = world(0, ['bound', 'waiting']);
  await pool.prime();
  expect(state.replicas).toBe(0);
});

test('gives its room to a caller, unless the operator says its size', async () => {
  const ours = world(3, ['waiting']);
  await ours.pool.makeRoom();
  expect(ours.state.replicas).toBe(0);
  const operators = world(3, ['waiting'], 0);
  await operators.pool.makeRoom();
  expect(operators.state.replicas).toBe(3);
});
