import { describe, expect, test } from '@jest/globals';
import { createKubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { readConfig } from '#host/config/config.ts';
import { openClusterPool } from '#host/platforms/kubernetes-platform.ts';
import { poolConfig } from '#test/support/warm-pools.ts';

describe('the settings of the warm pool', () => {
  test('leave it off, as the bridge has them', () => {
    expect(readConfig({}).pool).toEqual({
      warmTarget: 0,
      refreshInterval: 10_000,
      maxInstances: 0,
      scaleBatchSize: 5,
    });
  });

  test('are read by the names that the bridge gives them', () => {
    const given = {
      WARM_POOL_TARGET: '3',
      WARM_POOL_REFRESH_INTERVAL: '500',
      WARM_POOL_MAX_INSTANCES: '40',
      WARM_POOL_SCALE_BATCH_SIZE: '7',
    };
    expect(readConfig(given).pool).toEqual({
      warmTarget: 3,
      refreshInterval: 500,
      maxInstances: 40,
      scaleBatchSize: 7,
    });
  });

  test.each([
    ['0', 1],
    ['1', 1],
    ['20', 20],
    ['21', 20],
  ])('take a batch of %s for one of %i', (given, size) => {
    expect(readConfig({ WARM_POOL_SCALE_BATCH_SIZE: given }).pool.scaleBatchSize).toBe(size);
  });

  test.each([
    ['WARM_POOL_TARGET', '-1', 'WARM_POOL_TARGET: must be a whole number from 0 to 1000'],
    [
      'WARM_POOL_TARGETS',
      '3',
      'WARM_POOL_TARGETS: not a setting of Porthole; did you mean WARM_POOL_TARGET?',
    ],
  ])('refuse %s=%s', (name, value, problem) => {
    expect(() => readConfig({ [name]: value })).toThrow(problem);
  });
});

test('pods have no pool: a target is warned of, and nothing is ever ready', async () => {
  const client = createKubernetesClient({ access: { server: 'http://127.0.0.1:1' } });
  const at = { client, namespace: 'previews', warmPool: undefined };
  const { pool, warnings } = await openClusterPool('kubernetes', poolConfig(), at);
  expect(warnings()).toEqual([
    'WARM_POOL_TARGET has no effect: the provider kubernetes keeps no sandbox ready. Use agent-sandbox, or leave it out.',
  ]);
  await pool?.prime();
  expect(await pool?.stats()).toEqual({
    warm: 0,
    assigned: 0,
    total: 0,
    config: poolConfig(),
    maxInstances: null,
  });
  expect(await pool?.take({ user: 'alice', org: 'acme' })).toBeUndefined();
  await pool?.drain();
  const without = await openClusterPool('kubernetes', poolConfig({ warmTarget: 0 }), at);
  expect(without.warnings()).toEqual([]);
  client.close();
});
