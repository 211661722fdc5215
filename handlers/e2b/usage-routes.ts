/** What a sandbox of E2B's clients uses, and what has happened in it. */
import { z } from 'zod';
import type { Caller } from '#core/callers.ts';
import type { SandboxEvent } from '#core/sandboxes/sandbox-events.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { sandboxUsage } from '#core/sandboxes/sandbox-usage.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { SandboxPath } from '../sandboxes/sandbox-path.ts';
import type { Services } from '../services.ts';
import { control, cpuCountOf } from './control-routes.ts';
import { findE2bSandbox } from './find-sandbox.ts';

const MIB = 2 ** 20;

export const MetricView = z.object({
  timestamp: z.iso.datetime(),
  timestampUnix: z.int(),
  cpuCount: z.int(),
  cpuUsedPct: z.number(),
  memTotal: z.int(),
  memUsed: z.int(),
  memCache: z.int(),
  diskTotal: z.int(),
  diskUsed: z.int(),
});

/** The figures of now; undefined for a sandbox that does not run. */
export async function readMetric(
  services: Services,
  { id, resources }: SandboxRecord,
  signal: AbortSignal | undefined,
): Promise<z.infer<typeof MetricView> | undefined> {
  const used = await sandboxUsage(services, id, signal);
  if (used === undefined) return undefined;
  const now = services.clock.now();
  const { cpu, memoryMb } = { ...services.sandboxes.defaultSize, ...resources };
  const cpuCount = cpuCountOf(cpu);
  return {
    timestamp: now.toISOString(),
    timestampUnix: Math.floor(now.getTime() / 1_000),
    cpuCount,
    cpuUsedPct: (used.cpus / cpuCount) * 100,
    memTotal: used.memory_limit_bytes ?? memoryMb * MIB,
    memUsed: used.memory_bytes,
    memCache: used.cache_bytes ?? 0,
    diskTotal: used.disk_bytes,
    diskUsed: used.disk_used_bytes,
  };
}

/** E2B measures every five seconds: a client that asks until now means the last of these. */
const EVERY_SECONDS = 5;
const second = z.coerce.number('must be seconds since the epoch').int().min(0).max(1e12).optional();

const metricsRoute = defineRoute('e2bSandboxMetrics', 'GET', '/e2b/sandboxes/{id}/metrics', {
  ...control,
  summary: 'What a sandbox uses now',
  description:
    'Earlier figures are not kept: the list is empty if `start` and `end` do not enclose now, and for a sandbox that does not run.',
  params: SandboxPath,
  query: z.object({ start: second, end: second }),
  responses: { 200: { description: 'One metric, or none', schema: z.array(MetricView) } },
  errors: ['sandbox_not_found', 'exec_transport_error'],
  async handle({ params, query, caller, signal }, services) {
    const sandbox = await findE2bSandbox(services, caller, params.id);
    const { start = 0, end = Infinity } = query;
    const now = services.clock.now().getTime() / 1_000;
    if (start > now || end < now - EVERY_SECONDS) return json(200, []);
    const metric = await readMetric(services, sandbox, signal);
    return json(200, metric === undefined ? [] : [metric]);
  },
});

const MAX_LOGS = 1_000;
const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

const LogView = z.object({
  timestamp: z.iso.datetime(),
  level: z.enum(LEVELS),
  message: z.string(),
  fields: z.record(z.string(), z.string()),
});

const millisecond = z.coerce.number('must be ms since the epoch').int().min(0).max(1e15);
const limit = z.coerce.number('must be a whole number').int().min(0).max(MAX_LOGS).default(MAX_LOGS);

/** The events of a sandbox, oldest first. */
async function readLogs(services: Services, caller: Caller, id: string) {
  const sandbox = await findE2bSandbox(services, caller, id);
  const { events } = await services.records.sandboxEvents.read(sandbox.id, { after: 0, limit: MAX_LOGS });
  return events.map(toLog);
}

function toLog({ type, at, data }: SandboxEvent): z.infer<typeof LogView> {
  // Details are read in the activity of a run only.
  const { detail: _, ...shown } = data;
  const fields = Object.entries(shown).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return { timestamp: at.toISOString(), level: 'info', message: type, fields: Object.fromEntries(fields) };
}

const logsRoute = defineRoute('e2bSandboxLogs', 'GET', '/e2b/v2/sandboxes/{id}/logs', {
  ...control,
  summary: 'What has happened in a sandbox',
  description: 'Its events, as `GET /v1/sandbox/{id}/events` has them, each as an entry of a log.',
  params: SandboxPath,
  query: z.object({
    cursor: millisecond.optional(),
    limit,
    direction: z.enum(['forward', 'backward']).default('forward'),
    level: z.enum(LEVELS).default('debug'),
    search: z.string().max(256).default(''),
  }),
  responses: { 200: { description: 'The log', schema: z.object({ logs: z.array(LogView) }) } },
  errors: ['sandbox_not_found'],
  async handle({ params, query, caller }, services) {
    const { cursor, direction, level, search } = query;
    const isBack = direction === 'backward';
    const matches = ({ timestamp, level: has, message }: z.infer<typeof LogView>) => {
      const at = Date.parse(timestamp);
      const isThere = cursor === undefined || (isBack ? at <= cursor : at >= cursor);
      return isThere && LEVELS.indexOf(has) >= LEVELS.indexOf(level) && message.includes(search);
    };
    const found = (await readLogs(services, caller, params.id)).filter(matches);
    return json(200, { logs: (isBack ? found.toReversed() : found).slice(0, query.limit) });
  },
});

const oldLogsRoute = defineRoute('e2bSandboxLogsV1', 'GET', '/e2b/sandboxes/{id}/logs', {
  ...control,
  summary: 'What has happened in a sandbox, also as lines',
  params: SandboxPath,
  query: z.object({ start: millisecond.default(0), limit }),
  responses: {
    200: {
      description: 'The log',
      schema: z.object({
        logs: z.array(z.object({ timestamp: z.iso.datetime(), line: z.string() })),
        logEntries: z.array(LogView),
      }),
    },
  },
  errors: ['sandbox_not_found'],
  async handle({ params, query, caller }, services) {
    const all = await readLogs(services, caller, params.id);
    const logEntries = all
      .filter(({ timestamp }) => Date.parse(timestamp) >= query.start)
      .slice(0, query.limit);
    const logs = logEntries.map(({ timestamp, message, fields }) => ({
      timestamp,
      line: JSON.stringify({ message, ...fields }),
    }));
    return json(200, { logs, logEntries });
  },
});

export const e2bUsageRoutes: readonly Route[] = [metricsRoute, logsRoute, oldLogsRoute];
