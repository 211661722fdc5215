/** One pass of the reaper, for a CronJob: ends when it is done; exit code 1 when something could not be ended, which the next pass finds again. */
import { createMetrics } from './metrics.ts';
import { readConfig, secretsOf } from './config/config.ts';
import { explain } from './explain.ts';
import { createLogger } from './logger.ts';
import { openServices } from './open-services.ts';
import { reap } from '#handlers/reaper.ts';

const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());

try {
  const config = readConfig(process.env);
  const log = await createLogger({ level: config.logLevel, secrets: secretsOf(config) });
  const open = await openServices({ config, log, metrics: createMetrics() });
  try {
    log.info(await reap(open.services, stopping.signal), 'the pass is done');
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
