import { z } from 'zod';
import { defineRoute, json } from '../route.ts';

export const healthRoute = defineRoute({
  id: 'healthCheck',
  method: 'GET',
  path: '/health',
  tag: 'Operation',
  summary: 'Liveness probe',
  access: 'anyone',
  bridge: true,
  page: true,
  responses: {
    200: {
      description: 'It lives; `warnings` says what is weaker than it could be',
      schema: z
        .object({ ok: z.literal(true), warnings: z.array(z.string()).optional() })
        .meta({ id: 'OkResponse' }),
    },
  },
  handle(_request, { warnings }) {
    const found = warnings();
    return Promise.resolve(json(200, found.length === 0 ? { ok: true } : { ok: true, warnings: found }));
  },
});
