import { hasOnly, literal, quote } from '../constructs/admission-expressions.ts';
import type { Toleration } from '../constructs/pod-placement.ts';

/** Tolerations that the API server adds to every pod, so that it is evicted from a lost node. */
const TOLERATIONS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];

/** Whether metadata has Porthole's keys and the stack's entries, and nothing else. */
export function hasExactly(
  field: 'labels' | 'annotations',
  keys: readonly string[],
  entries: Readonly<Record<string, string>>,
): string {
  return [
    hasOnly(`object.metadata.?${field}`, [...keys, ...Object.keys(entries)]),
    ...Object.entries(entries).map(
      ([key, value]) => `object.metadata.?${field}[?${quote(key)}].orValue('') == ${quote(value)}`,
    ),
  ].join(' && ');
}

/** Whether a field of the PodSpec equals the stack's value, or is absent if the stack has none. */
export function isAsConfigured(field: string, value: object | undefined): string {
  if (value === undefined || Object.keys(value).length === 0) return `!has(object.spec.${field})`;
  return `has(object.spec.${field}) && dyn(object.spec.${field}) == dyn(${literal(value)})`;
}

/** Whether the pod selects the stack's nodes, and besides those of its RuntimeClass. */
export function isOnNodes(nodeSelector: Readonly<Record<string, string>>, hasRuntimeClass: boolean): string {
  if (!hasRuntimeClass) return isAsConfigured('nodeSelector', nodeSelector);
  const [now, ours, added] = [
    'dyn(object.spec.?nodeSelector.orValue({}))',
    `dyn(${literal(nodeSelector)})`,
    'dyn(params.?scheduling.?nodeSelector.orValue({}))',
  ];
  return [
    `${ours}.all(k, k in ${now} && ${now}[k] == ${ours}[k])`,
    `${now}.all(k, (k in ${ours} && ${now}[k] == ${ours}[k]) || (k in ${added} && ${now}[k] == ${added}[k]))`,
  ].join(' && ');
}

/** Whether every toleration is the stack's, the API server's, or of the RuntimeClass. */
export function toleratesOnly(tolerations: readonly Toleration[], hasRuntimeClass: boolean): string {
  const allowed = [
    `t.?key.orValue('') in [${TOLERATIONS.map(quote).join(', ')}]`,
    ...tolerations.map((each) => `dyn(t) == dyn(${literal(each)})`),
    ...(hasRuntimeClass ? ['params.?scheduling.?tolerations.orValue([]).exists(p, dyn(p) == dyn(t))'] : []),
  ];
  return `object.spec.?tolerations.orValue([]).all(t, ${allowed.join(' || ')})`;
}
