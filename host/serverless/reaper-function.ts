import { reap } from '#handlers/reaper.ts';
import type { ReapReport } from '#core/use-cases/reap-previews.ts';
import { lineLogger } from './line-logger.ts';
import { onceOpen } from './once-open.ts';
import type { OpenFunction } from './open-function.ts';

/** One pass of the reaper for each event of a schedule, whatever stands in it. It fails where the pass does: the next one finds what is left. */
export function reaperFunction(open: () => Promise<OpenFunction>): (event?: unknown) => Promise<ReapReport> {
  const opened = onceOpen(open);
  return async () => {
    let log = lineLogger();
    try {
      const { services } = await opened();
      ({ log } = services);
      return await reap(services);
    } catch (err) {
      log.error({ err }, 'the pass failed');
      throw err;
    }
  };
}
