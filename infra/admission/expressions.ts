import { userName } from '../access/access.plan.ts';
import { NAMESPACE_NAME, STACK_LABELS } from '../labels.ts';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';

type Namespaces = Pick<StackConfig, 'namespaces'>['namespaces'];

/** Policies belong to no namespace: the functions' tells two stacks of one cluster apart. */
export function policyMetadata({ functions }: Namespaces, id: string) {
  return { name: `${functions}-${id}`, labels: STACK_LABELS };
}

/** A text as CEL spells it. */
export const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** Whether the object bears all these labels. */
export function hasLabels(object: 'object' | 'oldObject', labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${object}.?metadata.?labels[?${quote(name)}].orValue('') == ${quote(value)}`)
    .join(' && ');
}

/** Whether the request comes from the functions or the reaper: what an attacker with their credentials would send. */
export function isOurs({ functions }: Namespaces): string {
  const users = [userName(functions, 'functions'), userName(functions, 'reaper')].map(quote);
  return `request.userInfo.username in [${users.join(', ')}]`;
}

/** Requests to these resources of the previews' namespace. */
export function inPreviewsNamespace(
  { previews }: Namespaces,
  rule: { apiGroups: string[]; resources: string[]; operations: string[] },
) {
  return {
    matchPolicy: 'Equivalent',
    namespaceSelector: { matchLabels: { [NAMESPACE_NAME]: previews } },
    resourceRules: [{ ...rule, apiVersions: ['*'], scope: 'Namespaced' }],
  };
}
