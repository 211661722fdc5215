import { hasLabels, hasOnly, inNamespace, isNamed, quote } from '../constructs/admission-expressions.ts';
import { ANNOTATIONS, DOMAIN, LABELS, SANDBOX_LABELS } from '../constructs/names.ts';
import { SANDBOX_SIZE } from '../constructs/sandbox-size.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { SANDBOX_NAME } from './sandbox-pods.plan.ts';
import { isOurs, policyMetadata } from './expressions.ts';

/**
 * Admission policy for the functions' volumes: a client that may choose the source of a volume may
 * read the data of other sandboxes, or of a node.
 */
export function sandboxVolumesPlan({ namespaces, sandboxes }: Pick<StackConfig, 'namespaces' | 'sandboxes'>) {
  const { storageClass } = sandboxes;
  return {
    metadata: policyMetadata(namespaces, 'sandbox-volumes'),
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: inNamespace(namespaces.previews, {
        apiGroups: [''],
        resources: ['persistentvolumeclaims'],
        operations: ['CREATE'],
      }),
      matchConditions: [{ name: 'by-the-functions', expression: isOurs(namespaces) }],
      validations: [
        {
          expression: hasLabels('object', SANDBOX_LABELS),
          message: 'not a sandbox: the functions make no other volume',
        },
        {
          expression: isNamed(SANDBOX_NAME),
          message: "foreign name: a sandbox's volume is named sandbox-{id}",
        },
        {
          expression: [
            hasOnly('object.metadata.?labels', [LABELS.managedBy, LABELS.component, LABELS.sandbox]),
            hasOnly('object.metadata.?annotations', [
              ANNOTATIONS.sandboxId,
              `${DOMAIN}/image`,
              `${DOMAIN}/spec`,
            ]),
          ].join(' && '),
          message: "foreign label or annotation: a sandbox's volume has Porthole's alone",
        },
        {
          expression: `quantity(object.spec.resources.requests.storage).compareTo(quantity('${SANDBOX_SIZE.workspaceMebibytes}Mi')) <= 0`,
          message: `too large: a sandbox's volume has ${SANDBOX_SIZE.workspaceMebibytes} MiB at most`,
        },
        {
          expression: ['volumeName', 'selector', 'dataSource', 'dataSourceRef']
            .map((field) => `!has(object.spec.${field})`)
            .join(' && '),
          message: "foreign data: a sandbox's volume is empty at first",
        },
        {
          // Without a class it could bind to any pre-provisioned volume.
          expression:
            storageClass === undefined
              ? `object.spec.?storageClassName.orValue('default') != ''`
              : `object.spec.?storageClassName.orValue('') == ${quote(storageClass)}`,
          message: `foreign class: a sandbox's volume is made by ${storageClass === undefined ? 'a StorageClass' : `the StorageClass ${storageClass}`}`,
        },
      ],
    },
  };
}
