import { z } from 'zod';
import { defineRoute, json } from '../route.ts';
import { requireAdmin } from './require-admin.ts';

export const shutdownPrewarmedRoute = defineRoute({
  id: 'shutdownPrewarmed',
  method: 'POST',
  path: '/v1/pool/shutdown-prewarmed',
  tag: 'Pool',
  summary: 'Remove the sandboxes that nobody uses',
  description: 'Those in use stay. No more are kept ready until the pool is primed again. For admins.',
  access: 'caller',
  bridge: true,
  responses: {
    200: {
      description: 'They are gone',
      schema: z.object({ ok: z.literal(true) }).meta({ id: 'OkResponse' }),
    },
  },
  errors: ['exec_transport_error'],
  async handle({ caller }, { pool }) {
    requireAdmin(caller, 'shut down what is kept ready');
    await pool.drain();
    return json(200, { ok: true });
  },
});
