import { podPlan } from './pod.plan.ts';
import type { Variable } from './archives.plan.ts';
import { type componentLabels, STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';

export interface EveryMinute {
  readonly component: Parameters<typeof componentLabels>[0];
  /** Whose rights it has. */
  readonly account: Parameters<typeof podPlan>[1];
  /** What the function host's image runs for one pass. */
  readonly args: readonly string[];
  /** What it reads besides the environment of all. @default nothing */
  readonly env?: readonly Variable[];
  /**
   * When a pass is ended that is not done; the next one starts where it stood. @default when the
   * next but one is due
   */
  readonly deadlineSeconds?: number;
}

/** Shortly before the next but one is due. */
export const DEADLINE_SECONDS = 110;

/** A CronJob that runs one pass of something in the functions' image each minute. */
export function everyMinutePlan(
  config: Pick<StackConfig, 'namespaces' | 'functions' | 'gateway' | 'environment'>,
  { component, account, args, env = [], deadlineSeconds = DEADLINE_SECONDS }: EveryMinute,
) {
  const pod = podPlan(config, account, component);
  return {
    metadata: {
      name: `porthole-${component}`,
      namespace: config.namespaces.functions,
      labels: STACK_LABELS,
    },
    spec: {
      schedule: '* * * * *',
      // Two at once would do no harm; a queue of them would.
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
