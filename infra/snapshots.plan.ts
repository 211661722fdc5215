import { everyMinutePlan } from './every-minute.plan.ts';
import type { StackConfig } from './stack-config-schema.ts';

/** What the function host's image runs for one pass over the editor's snapshots. */
export const SNAPSHOTS_ARGUMENTS = ['host/clean-snapshots-once.ts'];

/**
 * Snapshots are over to the second, whenever they are removed: ten minutes spare the cluster nine
 * pods of ten.
 */
const EVERY_TEN_MINUTES = '*/10 * * * *';

/**
 * It destroys sandboxes, and has an account of its own that can do nothing else: not run a command
 * in one, as the lifecycle may where it archives, nor read the keys of the bucket of archives.
 */
export function snapshotsPlan(
  config: Pick<StackConfig, 'namespaces' | 'functions' | 'gateway' | 'environment'>,
) {
  const { metadata, spec } = everyMinutePlan(config, {
    component: 'snapshots-clean',
    account: 'snapshots-clean',
    args: SNAPSHOTS_ARGUMENTS,
  });
  return { metadata, spec: { ...spec, schedule: EVERY_TEN_MINUTES } };
}
