import { podPlan } from './pod.plan.ts';
import type { Variable } from './archives.plan.ts';
import { type componentLabels, STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';

export interface EveryMinute {
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
export const DEADLINE_SECONDS = 110;

/** A CronJob that runs one pass in the functions' image each minute. */
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
