import type { ResourceValidationPolicy } from '@pulumi/policy';
import { containersOf, podSpecOf } from './pod-spec.ts';

export const unprivilegedPods: ResourceValidationPolicy = {
  name: 'unprivileged-pods',
  description:
    "Every pod runs as an ordinary user without capabilities, under the runtime's seccomp profile.",
  remediationSteps:
    'Set runAsNonRoot and seccompProfile RuntimeDefault on the pod; allowPrivilegeEscalation false and capabilities.drop ALL on each container.',
  validateResource({ type, props }, report) {
    const pod = podSpecOf(type, props);
    if (pod === undefined) return;
    if (pod.securityContext?.runAsNonRoot !== true) report('It may run as root.');
    if (pod.securityContext?.seccompProfile?.type !== 'RuntimeDefault') {
      report('It has not the seccomp profile of the runtime.');
    }
    for (const { name, securityContext } of containersOf(pod)) {
      if (securityContext?.privileged === true) report(`${name} is privileged.`);
      if (securityContext?.runAsNonRoot === false) report(`${name} may run as root.`);
      if (securityContext?.allowPrivilegeEscalation !== false) report(`${name} may gain privileges.`);
      const { drop = [], add = [] } = securityContext?.capabilities ?? {};
      if (!drop.includes('ALL') || add.length > 0) report(`${name} keeps capabilities.`);
    }
  },
};
