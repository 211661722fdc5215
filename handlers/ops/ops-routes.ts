import { z } from 'zod';
import { defineRoute, json } from '../route.ts';
import { checksRoute, installationRoute } from './installation-route.ts';

export const healthRoute = defineRoute('healthCheck', 'GET', '/health', {
  tag: 'Operation',
  summary: 'Liveness probe',
  description: 'With `?verbose` admins get the answer of `GET /api/installation/checks`.',
  access: 'anyone',
  bridge: true,
  page: true,
  verbose: checksRoute,
  responses: {
    200: {
      description: 'Healthy; `warnings` lists weak settings',
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

const metricsRoute = defineRoute('getMetrics', 'GET', '/metrics', {
  tag: 'Operation',
  summary: "Metrics in Prometheus' text format",
  description: 'Needs a credential unless called on a loopback address.',
  access: 'local',
  page: true,
  responses: { 200: { description: 'The metrics', contentType: 'text/plain' } },
  async handle(_request, { metrics }) {
    const { contentType, text } = await metrics();
    return { statusCode: 200, headers: { 'content-type': contentType }, body: text };
  },
});

export const opsRoutes = [healthRoute, metricsRoute, installationRoute, checksRoute];
