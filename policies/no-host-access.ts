import type { ResourceValidationPolicy } from '@pulumi/policy';
import { containersOf, podSpecOf } from './pod-spec.ts';

export const noHostAccess: ResourceValidationPolicy = {
  name: 'no-host-access',
  description: 'No pod shares a namespace, a path or a port with its node.',
  remediationSteps: 'Remove hostNetwork, hostPID, hostIPC, every hostPath volume and every hostPort.',
  validateResource({ type, props }, report) {
    const pod = podSpecOf(type, props);
    if (pod === undefined) return;
    for (const field of ['hostNetwork', 'hostPID', 'hostIPC'] as const) {
      if (pod[field] === true) report(`It has ${field}.`);
    }
    for (const { name, hostPath } of pod.volumes ?? []) {
      if (hostPath !== undefined) report(`Its volume ${name} is a path of the node.`);
    }
    for (const { name, ports = [] } of containersOf(pod)) {
      // Kubernetes treats 0 as unset.
      for (const { hostPort } of ports) if (hostPort) report(`${name} has the hostPort ${hostPort}.`);
    }
  },
};
