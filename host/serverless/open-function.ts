import { secretRedactor } from '#core/auth/redact-secrets.ts';
import { type FunctionOptions, makeFunction, type PortholeFunction } from '#handlers/make-function.ts';
import type { Route } from '#handlers/route.ts';
import type { Services } from '#handlers/services.ts';
import type { Metrics } from '../metrics.ts';
import { lineLogger } from './line-logger.ts';

/** The services of a route's function. */
export interface OpenFunction {
  readonly services: Services;
  readonly options: FunctionOptions;
}

/**
 * Reads the environment and opens all services, for the life of the process. Loads them on demand.
 */
export async function openFunction(): Promise<OpenFunction> {
  const { openServices, readFunctionConfig, secretsOf } = await import('./opening.ts');
  const config = readFunctionConfig(process.env);
  const redact = secretRedactor(secretsOf(config));
  const log = lineLogger({ level: config.logLevel, redact });
  const { services } = await openServices({ config, log, metrics: lazyMetrics() });
  return { services, options: { publicOrigin: config.publicUrl?.origin, redact } };
}

/**
 * The runtime counts invocations; the counts of one process of many would mean little. The number
 * of previews is the same in all processes.
 */
function lazyMetrics(): Metrics {
  let count: (() => Promise<number>) | undefined;
  const created = onceOpen(async () => {
    const { createMetrics } = await import('../metrics.ts');
    const metrics = createMetrics();
    if (count !== undefined) metrics.countPreviews(count);
    return metrics;
  });
  return {
    requested: () => undefined,
    archived: () => undefined,
    previewRequested: () => undefined,
    previewBytes: () => undefined,
    previewUpgrades: () => undefined,
    countPreviews: (read) => (count = read),
    expose: async () => (await created()).expose(),
  };
}

/**
 * Waits of a buffered request end after this time, in milliseconds, and clients repeat it: API
 * Gateway ends requests after 29 seconds, and a function that is ended loses its process.
 */
const WAITS_MS = 25_000;

/**
 * The function of a route on a runtime that buffers. Waits of each request end before its
 * gateway ends the request.
 */
export function bufferedFunction(
  route: Route,
  { services, options }: OpenFunction,
  waitsMs = WAITS_MS,
): PortholeFunction {
  if (route.class !== 'stream') return makeFunction(route, services, options);
  return (event, context) => {
    const stopping = AbortSignal.any([services.stopping, AbortSignal.timeout(waitsMs)]);
    return makeFunction(route, { ...services, stopping }, options)(event, context);
  };
}

/**
 * Opens at the first call; later calls share the result. A failure is not cached, so that a short
 * outage of the database does not break the process.
 */
export function onceOpen<T>(open: () => Promise<T>): () => Promise<T> {
  let opening: Promise<T> | undefined;
  return () => {
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
}
