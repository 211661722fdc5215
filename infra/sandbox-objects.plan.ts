import { hasLabels, hasOnly, isNamed, quote } from '../constructs/admission-expressions.ts';
import { workspaceSpec } from '../constructs/agent-sandbox-manifests.ts';
import { ANNOTATIONS, DOMAIN, LABELS, SANDBOX_LABELS } from '../constructs/names.ts';
import { SANDBOX_SIZE } from '../protocol/settings/sandbox-size.ts';
import { functionsPolicy } from './expressions.ts';
import { SANDBOX_NAME } from './sandbox-pods.plan.ts';
import { warmPoolNames } from './sandbox-provider.plan.ts';
import type { StackConfig } from './stack-config-schema.ts';

const CLAIM_LABELS = [LABELS.managedBy, LABELS.component, LABELS.sandbox];

/**
 * Admission policy for the functions' claims on agent-sandbox: a claim selects the template of a
 * sandbox, and may add to its pod.
 */
export function sandboxClaimsPlan({ namespaces, sandboxes }: StackConfig) {
  const podMetadata = 'object.spec.?additionalPodMetadata';
  const rule = {
    apiGroups: ['extensions.agents.x-k8s.io'],
    resources: ['sandboxclaims'],
    operations: ['CREATE'],
  };
  return functionsPolicy(namespaces, 'sandbox-claims', rule, [
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
        hasOnly('object.metadata.?labels', CLAIM_LABELS),
        hasOnly('object.metadata.?annotations', [ANNOTATIONS.sandboxId]),
        hasOnly(`${podMetadata}.?labels`, [LABELS.sandbox, LABELS.network]),
        hasOnly(`${podMetadata}.?annotations`, []),
      ].join(' && '),
      message: "foreign label or annotation: a claim and its pod get Porthole's alone",
    },
  ]);
}

/**
 * Admission policy for the functions' volumes: a client that may choose the source of a volume may
 * read the data of other sandboxes, or of a node.
 */
export function sandboxVolumesPlan({ namespaces, sandboxes }: StackConfig) {
  const { storageClassName } = workspaceSpec('', sandboxes);
  const rule = { apiGroups: [''], resources: ['persistentvolumeclaims'], operations: ['CREATE'] };
  return functionsPolicy(namespaces, 'sandbox-volumes', rule, [
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
        hasOnly('object.metadata.?labels', CLAIM_LABELS),
        hasOnly('object.metadata.?annotations', [ANNOTATIONS.sandboxId, `${DOMAIN}/image`, `${DOMAIN}/spec`]),
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
        storageClassName === undefined
          ? `object.spec.?storageClassName.orValue('default') != ''`
          : `object.spec.?storageClassName.orValue('') == ${quote(storageClassName)}`,
      message: `foreign class: a sandbox's volume is made by ${storageClassName === undefined ? 'a StorageClass' : `the StorageClass ${storageClassName}`}`,
    },
  ]);
}

/** CEL: the old and the new object have the same fields of `what`, except `differs`. */
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
export function sandboxModesPlan({ namespaces }: StackConfig) {
  const rule = { apiGroups: ['agents.x-k8s.io'], resources: ['sandboxes'], operations: ['UPDATE'] };
  return functionsPolicy(namespaces, 'sandbox-modes', rule, [
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
  ]);
}
