/** E2B's data plane, which its clients call "envd": one sandbox. */
import { z } from 'zod';
import type { ErrorBody } from '../http/http-event.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { e2bErrorShape } from './e2b-errors.ts';
import { envdFileRoutes } from './envd-file-routes.ts';
import { envd } from './envd-options.ts';
import { envdRpcRoutes } from './envd-rpc-routes.ts';
import { findE2bSandbox, readyE2bSandbox } from './find-sandbox.ts';
import { readMetric } from './usage-routes.ts';

/** E2B's proxy answers this for a sandbox that does not run. */
const NOT_RUNNING = 502;

/** Clients know a sandbox that does not run by these words, and then say that it was killed. */
function notRunning(sandboxId: string, why: string) {
  return { sandboxId, message: `The sandbox was not found: ${why}`, code: NOT_RUNNING };
}

/** Also of one that does not exist, or is of another owner. */
function healthErrorShape(body: ErrorBody, status: number) {
  return status === 404
    ? { status: NOT_RUNNING, body: notRunning('', body.error) }
    : e2bErrorShape(body, status);
}

const healthRoute = defineRoute('e2bHealth', 'GET', '/e2b/envd/health', {
  ...envd,
  summary: 'Whether the sandbox runs',
  errorShape: healthErrorShape,
  delegates: { scope: 'fs:read', enforces: 'paths' },
  responses: { 204: { description: 'It runs' }, [NOT_RUNNING]: { description: 'It does not' } },
  async handle({ params, caller, signal }, services) {
    const { id } = await findE2bSandbox(services, caller, params.id);
    const { state } = await services.sandboxes.inspect(id, signal);
    if (state === 'running') return { statusCode: 204, headers: {} };
    return json(NOT_RUNNING, notRunning(id, `it is ${state}`));
  },
});

const MetricsView = z.object({
  ts: z.int(),
  cpu_count: z.int(),
  cpu_used_pct: z.number(),
  mem_total: z.int(),
  mem_used: z.int(),
  mem_cache: z.int(),
  disk_total: z.int(),
  disk_used: z.int(),
});

const metricsRoute = defineRoute('e2bMetrics', 'GET', '/e2b/envd/metrics', {
  ...envd,
  summary: 'What the sandbox uses now',
  delegates: { scope: 'fs:read', enforces: 'paths' },
  responses: { 200: { description: 'The figures', schema: MetricsView } },
  async handle({ params, caller, signal }, services) {
    const sandbox = await readyE2bSandbox(services, caller, params.id);
    const metric = await readMetric(services, sandbox, signal);
    if (metric === undefined) return json(NOT_RUNNING, notRunning(sandbox.id, 'it was stopped'));
    return json(200, {
      ts: metric.timestampUnix,
      cpu_count: metric.cpuCount,
      cpu_used_pct: metric.cpuUsedPct,
      mem_total: metric.memTotal,
      mem_used: metric.memUsed,
      mem_cache: metric.memCache,
      disk_total: metric.diskTotal,
      disk_used: metric.diskUsed,
    });
  },
});

const variablesRoute = defineRoute('e2bEnvs', 'GET', '/e2b/envd/envs', {
  ...envd,
  summary: 'The variables of all commands, that the sandbox was created with',
  delegates: { scope: 'exec' },
  responses: { 200: { description: 'The variables', schema: z.record(z.string(), z.string()) } },
  async handle({ params, caller }, services) {
    const { env } = await findE2bSandbox(services, caller, params.id);
    return json(200, env, { 'cache-control': 'no-store' });
  },
});

export const envdRoutes: readonly Route[] = [
  healthRoute,
  metricsRoute,
  variablesRoute,
  ...envdFileRoutes,
  ...envdRpcRoutes,
];
