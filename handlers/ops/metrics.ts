import { defineRoute } from '../route.ts';

export const metricsRoute = defineRoute({
  id: 'getMetrics',
  method: 'GET',
  path: '/metrics',
  tag: 'Operation',
  summary: "Metrics in Prometheus' text format",
  description: 'Needs no credential on a loopback address; elsewhere it does.',
  access: 'local',
  page: true,
  responses: { 200: { description: 'The metrics', contentType: 'text/plain' } },
  async handle(_request, { metrics }) {
    const { contentType, text } = await metrics();
    return { statusCode: 200, headers: { 'content-type': contentType }, body: text };
  },
});
