import { podPlan } from '../functions/pod.plan.ts';
import { type componentLabels, STACK_LABELS } from '../labels.ts';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';

export interface EveryMinute {
  readonly component: Parameters<typeof componentLabels>[0];
  /** Whose rights it has. */
  readonly account: Parameters<typeof podPlan>[1];
  /** What the function host's image runs for one pass. */
  readonly args: readonly string[];
}

/** A pass that is not done when the next but one is due is ended: the next one starts where it stood. */
const DEADLINE_SECONDS = 110;

/** A CronJob that runs one pass of something in the functions' image each minute. */
export function everyMinutePlan(
  config: Pick<StackConfig, 'namespaces' | 'functions' | 'gateway'>,
  { component, account, args }: EveryMinute,
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
          activeDeadlineSeconds: DEADLINE_SECONDS,
          backoffLimit: 0,
          template: {
            metadata: { labels: pod.labels },
            spec: {
              ...pod.spec,
              restartPolicy: 'Never',
              containers: [{ ...pod.container, name: component, args: [...args] }],
            },
          },
        },
      },
    },
  };
}
