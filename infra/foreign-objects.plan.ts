import { hasLabels, inNamespace } from '../constructs/admission-expressions.ts';
import { LABELS, PREVIEW_LABELS } from '../constructs/names.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { isOurs, policyMetadata } from './expressions.ts';

/**
 * Admission policy: the functions and the reaper cannot change or delete objects that Porthole did
 * not create, whatever their roles allow.
 */
export function foreignObjectsPlan({ namespaces }: Pick<StackConfig, 'namespaces'>) {
  const managedBy = { [LABELS.managedBy]: PREVIEW_LABELS[LABELS.managedBy] };
  return {
    metadata: policyMetadata(namespaces, 'foreign-objects'),
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: inNamespace(namespaces.previews, {
        apiGroups: ['', 'gateway.networking.k8s.io', 'extensions.agents.x-k8s.io'],
        resources: ['httproutes', 'services', 'pods', 'persistentvolumeclaims', 'sandboxclaims'],
        operations: ['UPDATE', 'DELETE'],
      }),
      matchConditions: [{ name: 'by-the-functions', expression: isOurs(namespaces) }],
      validations: [
        {
          expression: hasLabels('oldObject', managedBy),
          message: 'foreign object: Porthole changes and deletes only what it made',
        },
      ],
    },
  };
}
