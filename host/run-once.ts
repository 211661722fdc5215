import type { Logger, Services } from '#handlers/services.ts';
import { readConfig, secretsOf } from './config/config.ts';
import { explain } from './explain.ts';
import { createLogger } from './logger.ts';
import { createMetrics } from './metrics.ts';
import { openServices } from './open-services.ts';

/** One pass of something, for a CronJob: ends when it is done; exit code 1 when it failed, which the next pass makes good. */
export async function runOnce(
  pass: (services: Services, signal: AbortSignal) => Promise<object>,
): Promise<void> {
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());
  try {
    const config = readConfig(process.env);
    const log: Logger = await createLogger({ level: config.logLevel, secrets: secretsOf(config) });
    const open = await openServices({ config, log, metrics: createMetrics() });
    try {
      log.info(await pass(open.services, stopping.signal), 'the pass is done');
    } catch (err) {
      log.error({ err }, 'the pass failed');
      process.exitCode = 1;
    } finally {
      await open.close();
    }
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    process.exitCode = 1;
  }
}
