import type { ResourceValidationPolicy } from '@pulumi/policy';
import { containersOf, sandboxSpecOf } from './pod-spec.ts';

export const sandboxLimits: ResourceValidationPolicy = {
  name: 'sandbox-limits',
  description: 'A sandbox has limits of CPU and memory.',
  remediationSteps: 'Set sandboxes.templates.{name}.cpu and memory.',
  validateResource({ type, props }, report) {
    const pod = sandboxSpecOf(type, props);
    if (pod === undefined) return;
    for (const { name, resources } of containersOf(pod)) {
      for (const resource of ['cpu', 'memory']) {
        // Runtimes enforce no limit of 0, whatever its unit.
        const limit = Number.parseFloat(resources?.limits?.[resource] ?? '0');
        if (!(limit > 0)) report(`${name} has no limit of ${resource}.`);
      }
    }
  },
};
