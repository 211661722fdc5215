import { everyMinutePlan } from '../scheduled/every-minute.plan.ts';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';

/** What the function host's image runs for one pass over the lives of all sandboxes. */
export const LIFECYCLE_ARGUMENTS = ['host/keep-lives-once.ts'];

export function lifecyclePlan(config: Pick<StackConfig, 'namespaces' | 'functions' | 'gateway'>) {
  return everyMinutePlan(config, {
    component: 'lifecycle',
    account: 'lifecycle',
    args: LIFECYCLE_ARGUMENTS,
  });
}
