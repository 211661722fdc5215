import type { StackConfig } from './stack-config-schema.ts';
import { inPreviewsNamespace, isOurs, policyMetadata } from './expressions.ts';

/** Neither object has a field of `what` that the other has not, but for the one that may differ. */
function sameBut(what: string, differs: string): string {
  const [now, before] = [`dyn(object.${what})`, `dyn(oldObject.${what})`];
  return [
    `${now}.all(k, k == '${differs}' || (k in ${before} && ${now}[k] == ${before}[k]))`,
    `${before}.all(k, k == '${differs}' || k in ${now})`,
  ].join(' && ');
}

/**
 * What the API server refuses of the functions' changes to Sandboxes of agent-sandbox: all but the
 * mode, by which they are stopped and resumed. A Sandbox holds the whole pod that its controller
 * makes from it, so whoever could change that could run anything.
 */
export function sandboxModesPlan({ namespaces }: Pick<StackConfig, 'namespaces'>) {
  return {
    metadata: policyMetadata(namespaces, 'sandbox-modes'),
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: inPreviewsNamespace(namespaces, {
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
