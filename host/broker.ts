/** The broker of the sandboxes of a cluster, as a separate process. */
import { readConfig, secretsOf } from './config/config.ts';
import { explain } from './explain.ts';
import { createLogger } from './telemetry/logger.ts';
import { startBroker } from './start-broker.ts';

/** Open connections have this long to end, in milliseconds; a terminating pod has more. */
const DRAIN_MS = 45_000;

try {
  const config = readConfig(process.env);
  const log = await createLogger({ level: config.logLevel, secrets: secretsOf(config) });
  const broker = await startBroker(config, log);
  log.info({ port: broker.port }, 'the broker listens');
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void broker.close(DRAIN_MS).then(() => process.exit(0)));
  }
} catch (error) {
  process.stderr.write(`${explain(error)}\n`);
  process.exitCode = 1;
}
