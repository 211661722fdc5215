import type { ResourceValidationPolicy } from '@pulumi/policy';
import { podSpecOf } from './pod-spec.ts';

export const noHostAccess: ResourceValidationPolicy = {
  name: 'no-host-access',
  description: 'No pod shares a namespace or a path with its node.',
  remediationSteps: 'Remove hostNetwork, hostPID, hostIPC and every hostPath volume.',
  validateResource({ type, props }, report) {
    const pod = podSpecOf(type, props);
    if (pod === undefined) return;
    for (const field of ['hostNetwork', 'hostPID', 'hostIPC'] as const) {
      if (pod[field] === true) report(`It has ${field}.`);
    }
    for (const { name, hostPath } of pod.volumes ?? []) {
      if (hostPath !== undefined) report(`Its volume ${name} is a path of the node.`);
    }
  },
};
