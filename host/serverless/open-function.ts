import { secretRedactor } from '#core/auth/redact-secrets.ts';
import type { FunctionOptions } from '#handlers/make-function.ts';
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
  const [{ readFunctionConfig }, { secretsOf }, { openServices }] = await Promise.all([
    import('./function-config.ts'),
    import('../config/config.ts'),
    import('../open-services.ts'),
  ]);
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
