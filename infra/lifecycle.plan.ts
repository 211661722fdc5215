import { ARCHIVED_WITHIN_MS } from '../core/archives/archive-store.ts';
import { archiveEnvironmentPlan } from './archives.plan.ts';
import { DEADLINE_SECONDS, everyMinutePlan } from './every-minute.plan.ts';
import type { StackConfig } from './stack-config-schema.ts';

/** Arguments of the function host's image for one lifecycle pass over all sandboxes. */
export const LIFECYCLE_ARGUMENTS = ['host/lifecycle-pass-once.ts'];

export function lifecyclePlan(
  config: Pick<StackConfig, 'namespaces' | 'functions' | 'gateway' | 'environment' | 'archives'>,
) {
  return everyMinutePlan(config, {
    component: 'lifecycle',
    account: 'lifecycle',
    args: LIFECYCLE_ARGUMENTS,
    env: archiveEnvironmentPlan(config),
    // An interrupted archive starts over: a pass must have time for an archive of any size.
    ...(config.archives !== undefined && {
      deadlineSeconds: DEADLINE_SECONDS + ARCHIVED_WITHIN_MS / 1_000,
    }),
  });
}
