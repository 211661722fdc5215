import type { ResourceValidationPolicy } from '@pulumi/policy';
import { isRole, isRoleBinding } from './kinds.ts';

/** What no rule of a role grants besides a wildcard: it leads to more, and the stack needs none. */
const NEVER = {
  apiGroups: [],
  resources: ['secrets', 'pods/exec'],
  verbs: ['escalate', 'bind', 'impersonate'],
  nonResourceURLs: [],
} as const satisfies Record<string, readonly string[]>;

type Rule = { readonly [Field in keyof typeof NEVER]?: readonly string[] };

/** All users, with credentials or without, and all pods. */
const EVERYONE = [
  'system:authenticated',
  'system:unauthenticated',
  'system:anonymous',
  'system:serviceaccounts',
];

export const noWildcardRbac: ResourceValidationPolicy = {
  name: 'no-wildcard-rbac',
  description:
    'A role names every group, resource, verb and URL that it grants, and grants no Secrets, no commands in pods and no right to gain others. No binding is for everyone, or of cluster-admin.',
  remediationSteps:
    'Replace each * and each aggregationRule by the rules that are needed, and each group of all users by service accounts.',
  validateResource({ type, props }, report) {
    if (isRoleBinding(type)) {
      const { roleRef, subjects = [] } = props as {
        roleRef?: { readonly name?: string };
        subjects?: readonly { readonly name: string }[];
      };
      const everyone = subjects.find(({ name }) => EVERYONE.includes(name));
      if (everyone !== undefined) report(`It binds ${roleRef?.name} to ${everyone.name}.`);
      else if (roleRef?.name === 'cluster-admin') report('It binds cluster-admin.');
    }
    if (!isRole(type)) return;
    const { rules = [], aggregationRule } = props as { rules?: readonly Rule[]; aggregationRule?: object };
    // An aggregated role takes the rules of other roles, including future ones.
    if (aggregationRule !== undefined) report('It has an aggregationRule.');
    for (const rule of rules) {
      for (const [field, never] of Object.entries(NEVER) as [keyof Rule, readonly string[]][]) {
        const granted = (rule[field] ?? []).filter((each) => each.includes('*') || never.includes(each));
        if (granted.length > 0) report(`It grants ${granted.join(', ')} in ${field}.`);
      }
    }
  },
};
