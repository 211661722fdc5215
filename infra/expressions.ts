import { inNamespace, isSentBy } from '../constructs/admission-expressions.ts';
import { userNames } from './access.ts';
import { STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';

type Namespaces = StackConfig['namespaces'];

/** Policies are cluster-scoped: the functions' namespace keeps names of two stacks distinct. */
export function policyMetadata({ functions }: Namespaces, id: string) {
  return { name: `${functions}-${id}`, labels: STACK_LABELS };
}

/**
 * Whether the request comes from one of the stack's accounts: what an attacker with their
 * credentials would send.
 */
export function isOurs({ functions }: Namespaces): string {
  return isSentBy(userNames(functions));
}

/** Admission policy for what the stack's accounts do with some resources beside previews. */
export function functionsPolicy(
  namespaces: Namespaces,
  id: string,
  rule: Parameters<typeof inNamespace>[1],
  validations: { readonly expression: string; readonly message: string }[],
) {
  return {
    metadata: policyMetadata(namespaces, id),
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: inNamespace(namespaces.previews, rule),
      matchConditions: [{ name: 'by-the-functions', expression: isOurs(namespaces) }],
      validations,
    },
  };
}
