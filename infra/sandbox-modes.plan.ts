import { inNamespace } from '../constructs/admission-expressions.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { isOurs, policyMetadata } from './expressions.ts';

/** Old and new object have the same fields of `what`, except for the one that may differ. */
function sameBut(what: string, differs: string): string {
  const [now, before] = [`dyn(object.${what})`, `dyn(oldObject.${what})`];
  return [
    `${now}.all(k, k == '${differs}' || (k in ${before} && ${now}[k] == ${before}[k]))`,
    `${before}.all(k, k == '${differs}' || k in ${now})`,
  ].join(' && ');
}

/**
 * Admission policy for the functions' changes to Sandboxes of agent-sandbox: only the mode, which
 * stops and resumes them. A Sandbox contains the whole pod that its controller creates, so a client
 * that could change it could run anything.
 */
export function sandboxModesPlan({ namespaces }: Pick<StackConfig, 'namespaces'>) {
  return {
    metadata: policyMetadata(namespaces, 'sandbox-modes'),
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: inNamespace(namespaces.previews, {
        apiGroups: ['agents.x-k8s.io'],
        resources: ['sandboxes'],
        operations: ['UPDATE'],
      }),
      matchConditions: [{ name: 'by-the-functions', expression: isOurs(namespaces) }],
      validations: [
        {
          expression: sameBut('spec', 'operatingMode'),
          message: 'changed sandbox: the functions stop and resume a Sandbox, and change nothing else of it',
        },
        {
          expression: ['labels', 'annotations', 'ownerReferences', 'finalizers']
            .map((field) => `object.metadata.?${field} == oldObject.metadata.?${field}`)
            .join(' && '),
          message: 'changed owner: the functions leave a Sandbox to whom it belongs',
        },
      ],
    },
  };
}
