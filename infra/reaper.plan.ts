import { everyMinutePlan } from './every-minute.plan.ts';
import type { StackConfig } from './stack-config-schema.ts';

/** What the function host's image runs for one pass of the reaper. */
export const REAPER_ARGUMENTS = ['host/reap-once.ts'];

export function reaperPlan(
  config: Pick<StackConfig, 'namespaces' | 'functions' | 'gateway' | 'environment'>,
) {
  return everyMinutePlan(config, { component: 'reaper', account: 'reaper', args: REAPER_ARGUMENTS });
}
