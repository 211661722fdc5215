import { z } from 'zod';
import { defineRoute, json } from '../route.ts';
import { requireAdmin } from './require-admin.ts';

export const primePoolRoute = defineRoute({
  id: 'primePool',
  method: 'POST',
  path: '/v1/pool/prime',
  tag: 'Pool',
  summary: 'Begin to keep sandboxes ready',
  description:
    'A host does so when it starts, and in a cluster a CronJob does every minute: it is needed after a shutdown alone. For admins.',
  access: 'caller',
  bridge: true,
  responses: {
    200: {
      description: 'They are being kept ready',
      schema: z.object({ ok: z.literal(true) }).meta({ id: 'OkResponse' }),
    },
  },
  errors: ['exec_transport_error'],
  async handle({ caller }, { pool }) {
    requireAdmin(caller, 'prime the pool');
    await pool.prime();
    return json(200, { ok: true });
  },
});
