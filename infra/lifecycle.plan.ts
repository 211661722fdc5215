import { ARCHIVED_WITHIN_MS } from '../core/archives/archive-store.ts';
import { archiveEnvironmentPlan } from './archives.plan.ts';
import { DEADLINE_SECONDS, everyMinutePlan } from './every-minute.plan.ts';
import type { StackConfig } from './stack-config-schema.ts';

/** What the function host's image runs for one pass over the lives of all sandboxes. */
export const LIFECYCLE_ARGUMENTS = ['host/lifecycle-pass-once.ts'];

export function lifecyclePlan(
  config: Pick<StackConfig, 'namespaces' | 'functions' | 'gateway' | 'environment' | 'archives'>,
) {
  return everyMinutePlan(config, {
    component: 'lifecycle',
    account: 'lifecycle',
    args: LIFECYCLE_ARGUMENTS,
    env: archiveEnvironmentPlan(config),
    // An archive that was cut off begins anew: a pass must have the time for one of any length.
    ...(config.archives !== undefined && {
      deadlineSeconds: DEADLINE_SECONDS + ARCHIVED_WITHIN_MS / 1_000,
    }),
  });
}
