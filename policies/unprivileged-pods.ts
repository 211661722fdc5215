import type { ResourceValidationPolicy } from '@pulumi/policy';
import { containersOf, podSpecOf } from './pod-spec.ts';

/** As the Pod Security Standard `restricted` has it. */
const PROFILES: readonly (string | undefined)[] = ['RuntimeDefault', 'Localhost'];

export const unprivilegedPods: ResourceValidationPolicy = {
  name: 'unprivileged-pods',
  description:
    "Every pod runs as an ordinary user without capabilities, under a seccomp profile: the runtime's, or one of the node. No container goes without it, without AppArmor or with an unmasked /proc.",
  remediationSteps:
    'Set runAsNonRoot and seccompProfile RuntimeDefault or Localhost on the pod; allowPrivilegeEscalation false and capabilities.drop ALL on each container. Remove the profiles Unconfined and every procMount.',
  validateResource({ type, props }, report) {
    const pod = podSpecOf(type, props);
    if (pod === undefined) return;
    if (pod.securityContext?.runAsNonRoot !== true) report('It may run as root.');
    if (!PROFILES.includes(pod.securityContext?.seccompProfile?.type)) {
      report('It has no seccomp profile.');
    }
    if (!isConfined(pod.securityContext?.appArmorProfile)) report('It has no AppArmor profile.');
    for (const { name, securityContext } of containersOf(pod)) {
      if (securityContext?.privileged === true) report(`${name} is privileged.`);
      if (securityContext?.runAsNonRoot === false) report(`${name} may run as root.`);
      if (securityContext?.allowPrivilegeEscalation !== false) report(`${name} may gain privileges.`);
      if (!isConfined(securityContext?.seccompProfile)) report(`${name} has no seccomp profile.`);
      if (!isConfined(securityContext?.appArmorProfile)) report(`${name} has no AppArmor profile.`);
      if ((securityContext?.procMount ?? 'Default') !== 'Default') report(`${name} sees all of /proc.`);
      const { drop = [], add = [] } = securityContext?.capabilities ?? {};
      if (!drop.includes('ALL') || add.length > 0) report(`${name} keeps capabilities.`);
    }
  },
};

/** Without a profile a container has the pod's, and a pod the runtime's AppArmor profile. */
function isConfined(profile: { readonly type?: string } | undefined): boolean {
  return profile === undefined || PROFILES.includes(profile.type);
}
