import { runLifecyclePass, type LifecycleReport } from '#handlers/ops/scheduled.ts';
import type { OpenFunction } from './open-function.ts';
import { scheduledFunction } from './scheduled-function.ts';

/** A lifecycle pass over all sandboxes for each event. */
export function lifecycleFunction(
  open: () => Promise<OpenFunction>,
): (event?: unknown) => Promise<LifecycleReport> {
  return scheduledFunction(open, (services) => runLifecyclePass(services));
}
