import type { ResourceValidationPolicy } from '@pulumi/policy';
import { sandboxSpecOf } from './pod-spec.ts';

export const sandboxNoToken: ResourceValidationPolicy = {
  name: 'sandbox-no-token',
  description: "A sandbox has no token for the cluster's API.",
  remediationSteps: 'Set automountServiceAccountToken to false.',
  validateResource({ type, props }, report) {
    const pod = sandboxSpecOf(type, props);
    if (pod === undefined) return;
    if (pod.automountServiceAccountToken !== false) report('Its service account’s token is mounted.');
  },
};
