import { hasLabels, hasOnly, inNamespace, isNamed, quote } from '../constructs/admission-expressions.ts';
import { ANNOTATIONS, LABELS, SANDBOX_LABELS } from '../constructs/names.ts';
import { warmPoolNames } from './sandbox-provider.plan.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { isOurs, policyMetadata } from './expressions.ts';
import { SANDBOX_NAME } from './sandbox-pods.plan.ts';

/**
 * Admission policy for the functions' claims on agent-sandbox: a claim selects the template of a
 * sandbox, and may add to its pod.
 */
export function sandboxClaimsPlan({ namespaces, sandboxes }: Pick<StackConfig, 'namespaces' | 'sandboxes'>) {
  const podMetadata = 'object.spec.?additionalPodMetadata';
  return {
    metadata: policyMetadata(namespaces, 'sandbox-claims'),
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: inNamespace(namespaces.previews, {
        apiGroups: ['extensions.agents.x-k8s.io'],
        resources: ['sandboxclaims'],
        operations: ['CREATE'],
      }),
      matchConditions: [{ name: 'by-the-functions', expression: isOurs(namespaces) }],
      validations: [
        {
          expression: hasLabels('object', SANDBOX_LABELS),
          message: 'not a sandbox: the functions make no other claim',
        },
        {
          expression: isNamed(SANDBOX_NAME),
          message: "foreign name: a sandbox's claim is named sandbox-{id}",
        },
        {
          expression: `object.spec.warmPoolRef.name in [${warmPoolNames(sandboxes).map(quote).join(', ')}]`,
          message: 'foreign pool: a sandbox comes out of a warm pool of the stack',
        },
        {
          expression: 'size(object.spec.?env.orValue([])) == 0',
          message: 'foreign environment: a claim adds nothing to its template',
        },
        {
          expression: 'size(object.spec.?volumeClaimTemplates.orValue([])) == 0',
          message: 'foreign volume: a claim adds nothing to its template',
        },
        {
          expression: [
            hasOnly('object.metadata.?labels', [LABELS.managedBy, LABELS.component, LABELS.sandbox]),
            hasOnly('object.metadata.?annotations', [ANNOTATIONS.sandboxId]),
            hasOnly(`${podMetadata}.?labels`, [LABELS.sandbox, LABELS.network]),
            hasOnly(`${podMetadata}.?annotations`, []),
          ].join(' && '),
          message: "foreign label or annotation: a claim and its pod get Porthole's alone",
        },
      ],
    },
  };
}
