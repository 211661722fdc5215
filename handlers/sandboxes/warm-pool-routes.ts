import { z } from 'zod';
import { requireAdmin } from '../http/require-admin.ts';
import { defineRoute, json } from '../route.ts';
import { OkResponse } from './sandbox-path.ts';

const PoolStats = z
  .object({
    warm: z.int().min(0).describe('Ready and unassigned'),
    assigned: z.int().min(0).describe('In use'),
    total: z.int().min(0).describe('`warm` and `assigned` together'),
    config: z.object({
      warmTarget: z.int().min(0).describe('Sandboxes to keep ready; 0: none'),
      refreshInterval: z.int().min(1).describe('Milliseconds between two checks'),
      maxInstances: z.int().min(0).describe('Maximum that run; 0: no known limit'),
      scaleBatchSize: z.int().min(1).max(20).describe('Maximum created at once'),
    }),
    maxInstances: z.int().nullable().describe('Null: no known limit'),
  })
  .meta({ id: 'PoolStats' });

const getPoolStatsRoute = defineRoute('getPoolStats', 'GET', '/v1/pool/stats', {
  tag: 'Pool',
  summary: 'How many sandboxes are ready, and how many in use',
  bridge: true,
  responses: { 200: { description: 'The counts and the configuration', schema: PoolStats } },
  errors: ['exec_transport_error'],
  async handle({ signal }, { pool }) {
    return json(200, await pool.stats(signal));
  },
});

const primePoolRoute = defineRoute('primePool', 'POST', '/v1/pool/prime', {
  tag: 'Pool',
  summary: 'Start the warm pool',
  description:
    'Needed only after a shutdown: a host does so when it starts, and in a cluster a CronJob every minute. For admins.',
  bridge: true,
  responses: { 200: { description: 'The pool is being filled', schema: OkResponse } },
  errors: ['exec_transport_error'],
  async handle({ person }, { pool }) {
    requireAdmin(person, 'prime the pool', 'the pool');
    await pool.prime();
    return json(200, { ok: true });
  },
});

const shutdownPrewarmedRoute = defineRoute('shutdownPrewarmed', 'POST', '/v1/pool/shutdown-prewarmed', {
  tag: 'Pool',
  summary: 'Remove unassigned warm sandboxes',
  description: 'Those in use stay. The pool stays empty until it is primed again. For admins.',
  bridge: true,
  responses: { 200: { description: 'They are gone', schema: OkResponse } },
  errors: ['exec_transport_error'],
  async handle({ person }, { pool }) {
    requireAdmin(person, 'shut down what is kept ready', 'the pool');
    await pool.drain();
    return json(200, { ok: true });
  },
});

export const warmPoolRoutes = [getPoolStatsRoute, primePoolRoute, shutdownPrewarmedRoute];
