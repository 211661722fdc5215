import { onceOpen } from '#base/concurrency.ts';
import type { Services } from '#handlers/services.ts';
import { lineLogger } from './line-logger.ts';
import type { OpenFunction } from './open-function.ts';

/**
 * One pass for each event of a schedule, whatever its content. Fails if the pass does: the next one
 * retries.
 */
export function scheduledFunction<Report>(
  open: () => Promise<OpenFunction>,
  pass: (services: Services) => Promise<Report>,
): (event?: unknown) => Promise<Report> {
  const opened = onceOpen(open);
  return async () => {
    let log = lineLogger();
    try {
      const { services } = await opened();
      ({ log } = services);
      return await pass(services);
    } catch (err) {
      log.error({ err }, 'the pass failed');
      throw err;
    }
  };
}
