import type { ResourceValidationPolicy } from '@pulumi/policy';
import { isSandboxTemplate } from './kinds.ts';

export const unmanagedTemplates: ResourceValidationPolicy = {
  name: 'unmanaged-templates',
  description:
    'A template leaves the network to the stack: the policy that agent-sandbox would make reopens egress, because policies only ever add.',
  remediationSteps: 'Set networkPolicyManagement to Unmanaged, and no networkPolicy.',
  validateResource({ type, props }, report) {
    if (!isSandboxTemplate(type)) return;
    const { spec } = props as { spec?: { networkPolicyManagement?: string; networkPolicy?: object } };
    if (spec?.networkPolicyManagement !== 'Unmanaged') {
      report(`It is ${spec?.networkPolicyManagement ?? 'Managed, which is the default'}.`);
    }
    if (spec?.networkPolicy !== undefined) report('It has its own network policy.');
  },
};
