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
export async function openFunction(metrics: Metrics = UNMEASURED): Promise<OpenFunction> {
  const [{ readFunctionConfig }, { secretsOf }, { openServices }] = await Promise.all([
    import('./function-config.ts'),
    import('../config/config.ts'),
    import('../open-services.ts'),
  ]);
  const config = readFunctionConfig(process.env);
  const redact = secretRedactor(secretsOf(config));
  const log = lineLogger({ level: config.logLevel, redact });
  const { services } = await openServices({ config, log, metrics });
  return { services, options: { publicOrigin: config.publicUrl?.origin, redact } };
}

/** The runtime counts invocations; the counts of one process of many would mean little. */
const UNMEASURED: Metrics = {
  requested: () => undefined,
  archived: () => undefined,
  previewRequested: () => undefined,
  previewBytes: () => undefined,
  previewUpgrades: () => undefined,
  countPreviews: () => undefined,
  expose: () => Promise.resolve({ contentType: 'text/plain; charset=utf-8', text: '' }),
};

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
