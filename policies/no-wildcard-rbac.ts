import type { ResourceValidationPolicy } from '@pulumi/policy';
import { isRole } from './kinds.ts';

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly verbs?: readonly string[];
}

export const noWildcardRbac: ResourceValidationPolicy = {
  name: 'no-wildcard-rbac',
  description: 'A role names every group, resource and verb that it grants.',
  remediationSteps: 'Replace each * by what is needed.',
  validateResource({ type, props }, report) {
    if (!isRole(type)) return;
    const { rules = [] } = props as { rules?: readonly Rule[] };
    for (const rule of rules) {
      for (const field of ['apiGroups', 'resources', 'verbs'] as const) {
        const wild = (rule[field] ?? []).filter((each) => each.includes('*'));
        if (wild.length > 0) report(`It grants ${wild.join(', ')} in ${field}.`);
      }
    }
  },
};
