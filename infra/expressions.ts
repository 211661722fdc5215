import { userNames } from './access.plan.ts';
import { NAMESPACE_NAME, STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';

type Namespaces = Pick<StackConfig, 'namespaces'>['namespaces'];

/** Policies are cluster-scoped: the functions' namespace keeps names of two stacks distinct. */
export function policyMetadata({ functions }: Namespaces, id: string) {
  return { name: `${functions}-${id}`, labels: STACK_LABELS };
}

/** A CEL string literal. */
export const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** A CEL literal of a JSON value. CEL's maps and lists have one type of value, unless it is dyn. */
export function literal(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value)) return `[${value.map((each) => `dyn(${literal(each)})`).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return `{${entries.map(([key, each]) => `${quote(key)}: dyn(${literal(each)})`).join(', ')}}`;
}

/** Whether the object has all these labels. */
export function hasLabels(object: 'object' | 'oldObject', labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${object}.?metadata.?labels[?${quote(name)}].orValue('') == ${quote(value)}`)
    .join(' && ');
}

/**
 * Whether the client chose the object's name, and it has this form: a generated name could be
 * anything.
 */
export function isNamed(pattern: string): string {
  return `object.metadata.?generateName.orValue('') == '' && object.metadata.?name.orValue('').matches(${quote(pattern)})`;
}

/** Whether a map, which may be missing, has no key but these. */
export function hasOnly(map: string, keys: readonly string[]): string {
  return `dyn(${map}.orValue({})).all(k, k in [${keys.map(quote).join(', ')}])`;
}

/**
 * Whether the request comes from one of the stack's accounts: what an attacker with their
 * credentials would send.
 */
export function isOurs({ functions }: Namespaces): string {
  return `request.userInfo.username in [${userNames(functions).map(quote).join(', ')}]`;
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
