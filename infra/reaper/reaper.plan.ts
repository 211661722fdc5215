import { podPlan } from '../functions/pod.plan.ts';
import { STACK_LABELS } from '../labels.ts';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';

/** What the function host's image runs for one pass of the reaper. */
export const REAPER_ARGUMENTS = ['host/reap-once.ts'];

/** A pass that is not done when the next but one is due is ended: the next one starts where it stood. */
const DEADLINE_SECONDS = 110;

export function reaperPlan(config: Pick<StackConfig, 'namespaces' | 'functions' | 'gateway'>) {
  const pod = podPlan(config, 'reaper');
  return {
    metadata: { name: 'porthole-reaper', namespace: config.namespaces.functions, labels: STACK_LABELS },
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
              containers: [{ ...pod.container, name: 'reaper', args: REAPER_ARGUMENTS }],
            },
          },
        },
      },
    },
  };
}
