import type { ReapReport } from '#core/previews/reap-previews.ts';
import { reap } from '#handlers/ops/scheduled.ts';
import type { OpenFunction } from './open-function.ts';
import { scheduledFunction } from './scheduled-function.ts';

/** A pass of the reaper for each event. */
export function reaperFunction(open: () => Promise<OpenFunction>): (event?: unknown) => Promise<ReapReport> {
  return scheduledFunction(open, (services) => reap(services));
}
