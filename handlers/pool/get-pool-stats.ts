import { z } from 'zod';
import { requirePerson } from '#core/callers.ts';
import { defineRoute, json } from '../route.ts';

const PoolStats = z
  .object({
    warm: z.int().min(0).describe('Ready, and nobody’s yet'),
    assigned: z.int().min(0).describe('In use'),
    total: z.int().min(0).describe('`warm` and `assigned` together'),
    config: z.object({
      warmTarget: z.int().min(0).describe('How many are kept ready; 0: none'),
      refreshInterval: z.int().min(1).describe('Milliseconds between two looks at them'),
      maxInstances: z.int().min(0).describe('Most that are to run; 0: no limit is known'),
      scaleBatchSize: z.int().min(1).max(20).describe('Most that are made at once'),
    }),
    maxInstances: z.int().nullable().describe('Null: no limit is known'),
  })
  .meta({ id: 'PoolStats' });

export const getPoolStatsRoute = defineRoute({
  id: 'getPoolStats',
  method: 'GET',
  path: '/v1/pool/stats',
  tag: 'Pool',
  summary: 'How many sandboxes are ready, and how many in use',
  access: 'caller',
  bridge: true,
  responses: { 200: { description: 'The numbers, and the configuration', schema: PoolStats } },
  errors: ['exec_transport_error'],
  async handle({ caller, signal }, { pool }) {
    requirePerson(caller, 'read the statistics of the pool');
    return json(200, await pool.stats(signal));
  },
});
