import { sandboxProvider } from './sandbox-provider.plan.ts';
import { everyMinutePlan } from './every-minute.plan.ts';
import type { StackConfig } from './stack-config-schema.ts';

/**
 * What primes the pool each minute, with the rights of the functions; undefined where there is no
 * pool, or no target.
 */
export function warmPoolPlan(
  config: Pick<StackConfig, 'namespaces' | 'functions' | 'gateway' | 'environment' | 'sandboxes'>,
) {
  const { sandboxes } = config;
  if (sandboxes.warmPoolTarget === 0 || sandboxProvider(sandboxes) === 'kubernetes') return undefined;
  return everyMinutePlan(config, {
    component: 'warm-pool',
    account: 'functions',
    args: ['host/prime-once.ts'],
  });
}
