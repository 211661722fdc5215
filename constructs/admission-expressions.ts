/** Parts of admission policies: CEL expressions, and what a policy matches. */
import { NAMESPACE_NAME } from './names.ts';

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
  return hasEntries(`${object}.?metadata.?labels`, labels);
}

/** Whether a map, which may be missing, has all these entries. */
export function hasEntries(map: string, entries: Readonly<Record<string, string>>): string {
  return Object.entries(entries)
    .map(([key, value]) => `${map}[?${quote(key)}].orValue('') == ${quote(value)}`)
    .join(' && ');
}

/** Whether a map, which may be missing, has no key but these. */
export function hasOnly(map: string, keys: readonly string[]): string {
  return `dyn(${map}.orValue({})).all(k, k in [${keys.map(quote).join(', ')}])`;
}

/**
 * Whether the client chose the object's name, and it has this form: a generated name could be
 * anything.
 */
export function isNamed(pattern: string): string {
  return `object.metadata.?generateName.orValue('') == '' && object.metadata.?name.orValue('').matches(${quote(pattern)})`;
}

/** Whether one of these users sends the request. */
export function isSentBy(users: readonly string[]): string {
  return `request.userInfo.username in [${users.map(quote).join(', ')}]`;
}

/**
 * Defaults of `matchConstraints`. Server-side apply owns the field as a whole, so that without them
 * a repeated create conflicts with the stored policy.
 */
export const MATCH_ALL = { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} };

/** Requests to these resources of one namespace. */
export function inNamespace(
  namespace: string,
  rule: { apiGroups: string[]; resources: string[]; operations: string[] },
) {
  return {
    ...MATCH_ALL,
    namespaceSelector: { matchLabels: { [NAMESPACE_NAME]: namespace } },
    resourceRules: [{ ...rule, apiVersions: ['*'], scope: 'Namespaced' }],
  };
}

/** Binds a policy by its own name: what it refuses is denied. */
export function denyBinding({ name }: { readonly name: string }) {
  return { policyName: name, validationActions: ['Deny'] };
}
