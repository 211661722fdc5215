import * as kubernetes from '@pulumi/kubernetes';
import { podPlan } from './pod.plan.ts';
import { type Variable, archiveEnvironmentPlan } from './archives.plan.ts';
import { type componentLabels, ownMetadata } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { component } from './settings-with-outputs.ts';
import { ARCHIVED_WITHIN_MS } from '../protocol/settings/shared-values.ts';
import { sandboxProvider } from './sandbox-provider.plan.ts';

interface EveryMinute {
  readonly component: Parameters<typeof componentLabels>[0];
  /** Its service account. */
  readonly account: Parameters<typeof podPlan>[1];
  /** Arguments of the function host's image for one pass. */
  readonly args: readonly string[];
  /** Variables in addition to the common environment. @default none */
  readonly env?: readonly Variable[];
  /**
   * Time limit of a pass; the next one continues its work. @default shortly before the next but one
   * is due
   */
  readonly deadlineSeconds?: number;
}

/** Shortly before the next but one is due. */
const DEADLINE_SECONDS = 110;

/** A CronJob that runs one pass in the functions' image each minute. */
function everyMinutePlan(
  config: StackConfig,
  { component, account, args, env = [], deadlineSeconds = DEADLINE_SECONDS }: EveryMinute,
) {
  const pod = podPlan(config, account, component);
  return {
    metadata: ownMetadata(config, `porthole-${component}`),
    spec: {
      schedule: '* * * * *',
      // Concurrent passes are safe, but a slow one must not build up a queue.
      concurrencyPolicy: 'Forbid',
      startingDeadlineSeconds: 60,
      successfulJobsHistoryLimit: 1,
      failedJobsHistoryLimit: 3,
      jobTemplate: {
        metadata: { labels: pod.labels },
        spec: {
          activeDeadlineSeconds: deadlineSeconds,
          backoffLimit: 0,
          template: {
            metadata: { labels: pod.labels },
            spec: {
              ...pod.spec,
              restartPolicy: 'Never',
              containers: [
                {
                  ...pod.container,
                  name: component,
                  args: [...args],
                  ...(env.length > 0 && { env: [...env] }),
                },
              ],
            },
          },
        },
      },
    },
  };
}

/** A component with one CronJob; without a plan, with none. */
function scheduledJob(
  type: string,
  planOf: (config: StackConfig) => ReturnType<typeof everyMinutePlan> | undefined,
) {
  return component(type, ({ name, config, resolve, parent }) => {
    const plan = resolve(planOf(config));
    const job = plan && new kubernetes.batch.v1.CronJob(name, plan, { parent });
    return { job: job?.id };
  });
}

/** Ends expired previews, every minute. */
export class Reaper extends scheduledJob('Reaper', reaperPlan) {}

/** What the function host's image runs for one pass of the reaper. */
export const REAPER_ARGUMENTS = ['host/reap-once.ts'];

export function reaperPlan(config: StackConfig) {
  return everyMinutePlan(config, { component: 'reaper', account: 'reaper', args: REAPER_ARGUMENTS });
}

/** Stops idle sandboxes and destroys expired ones, every minute. */
export class Lifecycle extends scheduledJob('Lifecycle', lifecyclePlan) {}

/** Arguments of the function host's image for one lifecycle pass over all sandboxes. */
export const LIFECYCLE_ARGUMENTS = ['host/lifecycle-pass-once.ts'];

export function lifecyclePlan(config: StackConfig) {
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

/** Removes the editor's expired snapshots, every ten minutes. */
export class Snapshots extends scheduledJob('Snapshots', snapshotsPlan) {}

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
export function snapshotsPlan(config: StackConfig) {
  const { metadata, spec } = everyMinutePlan(config, {
    component: 'snapshots-clean',
    account: 'snapshots-clean',
    args: SNAPSHOTS_ARGUMENTS,
  });
  return { metadata, spec: { ...spec, schedule: EVERY_TEN_MINUTES } };
}

/** Keeps the pool of sandboxes at its target, every minute, where the stack has one. */
export class WarmPool extends scheduledJob('WarmPool', warmPoolPlan) {}

/**
 * What primes the pool each minute, with the rights of the functions; undefined where there is no
 * pool, or no target.
 */
export function warmPoolPlan(config: StackConfig) {
  const { sandboxes } = config;
  if (sandboxes.warmPoolTarget === 0 || sandboxProvider(sandboxes) === 'kubernetes') return undefined;
  return everyMinutePlan(config, {
    component: 'warm-pool',
    account: 'functions',
    args: ['host/prime-once.ts'],
  });
}
