import type { OpenTelemetry } from '#adapters/telemetry/open-telemetry.ts';
import { useTracing } from '#core/telemetry/tracing.ts';
import { VERSION } from '#handlers/route.ts';
import type { Logger } from '#handlers/services.ts';
import type { Config } from '../config/config.ts';
import type { Metrics } from './metrics.ts';

/**
 * Traces from here on, and sends the metrics, if a collector is configured. Without one the SDK is
 * not loaded: a start takes no longer.
 */
export async function startTelemetry(
  telemetry: Config['telemetry'],
  log: Logger,
  metrics?: Pick<Metrics, 'read'>,
): Promise<Pick<OpenTelemetry, 'flush' | 'close'> | undefined> {
  if (telemetry === undefined) return undefined;
  const { openTelemetry } = await import('#adapters/telemetry/open-telemetry.ts');
  const { tracing, flush, close } = openTelemetry({
    protocol: telemetry.protocol,
    version: VERSION,
    log,
    readMetrics: metrics && (() => metrics.read()),
  });
  useTracing(tracing);
  return {
    flush,
    async close() {
      useTracing(undefined);
      await close();
    },
  };
}
