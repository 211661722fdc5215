import { everyMinutePlan } from './every-minute.plan.ts';
import type { StackConfig } from './stack-config-schema.ts';

/** Arguments of the function host's image for one pass over the editor's snapshots. */
export const SNAPSHOTS_ARGUMENTS = ['host/clean-snapshots-once.ts'];

/**
 * Snapshots expire to the second, even if they are removed later: ten minutes save nine of ten
 * pods.
 */
const EVERY_TEN_MINUTES = '*/10 * * * *';

/**
 * Destroys the sandboxes of snapshots. Its service account can do nothing else: not run a command
 * in one, as the lifecycle may to archive, nor read the keys of the archives' bucket.
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
