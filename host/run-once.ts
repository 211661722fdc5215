import type { Logger, Services } from '#handlers/services.ts';
import { readConfig, secretsOf } from './config/config.ts';
import { FolderTakenError } from './data-folder.ts';
import { explain } from './explain.ts';
import { createLogger } from './telemetry/logger.ts';
import { createMetrics } from './telemetry/metrics.ts';
import { openServices } from './open-services.ts';

/**
 * One pass for a CronJob: ends when it is done; exit code 1 on failure, which the next pass
 * retries.
 * @param done message if a host holds the data folder and does the same by itself. @default that is
 * a failure
 */
export async function runOnce(
  pass: (services: Services, signal: AbortSignal) => Promise<object>,
  { done }: { readonly done?: string } = {},
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
    if (done !== undefined && error instanceof FolderTakenError) {
      process.stdout.write(`${done}\n`);
      return;
    }
    process.stderr.write(`${explain(error)}\n`);
    process.exitCode = 1;
  }
}
