import { LABELS, SANDBOX_LABELS, SANDBOX_POD_LABELS } from '../../constructs/names.ts';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { hasLabels, inPreviewsNamespace, isOurs, policyMetadata, quote } from './expressions.ts';

/**
 * What the API server refuses of the pods that the functions make. Whoever may make pods may otherwise read every
 * Secret of the namespace, take any service account of it, or leave the container.
 */
export function sandboxPodsPlan({ namespaces }: Pick<StackConfig, 'namespaces'>) {
  return {
    metadata: policyMetadata(namespaces, 'sandbox-pods'),
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: inPreviewsNamespace(namespaces, {
        apiGroups: [''],
        resources: ['pods'],
        operations: ['CREATE'],
      }),
      matchConditions: [{ name: 'by-the-functions', expression: isOurs(namespaces) }],
      variables: [
        {
          name: 'containers',
          expression: 'object.spec.containers + object.spec.?initContainers.orValue([])',
        },
      ],
      validations: [
        {
          expression: `${hasLabels('object', { ...SANDBOX_LABELS, ...SANDBOX_POD_LABELS })} && object.?metadata.?labels[?${quote(LABELS.sandbox)}].orValue('') != ''`,
          message:
            'not a sandbox: the functions make no other pod, and the network policies know sandboxes by their labels',
        },
        {
          expression: `object.spec.?automountServiceAccountToken.orValue(true) == false && object.spec.?serviceAccountName.orValue('default') == 'default'`,
          message: 'service account: a sandbox has none',
        },
        {
          expression: ['hostNetwork', 'hostPID', 'hostIPC']
            .map((field) => `object.spec.?${field}.orValue(false) == false`)
            .concat('variables.containers.all(c, c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0))')
            .join(' && '),
          message: 'host namespace: a sandbox shares none with its node, and no port of it',
        },
        {
          expression: `object.spec.?volumes.orValue([]).all(v, has(v.emptyDir) || (has(v.persistentVolumeClaim) && v.persistentVolumeClaim.claimName == object.metadata.name))`,
          message:
            'foreign volume: a sandbox mounts the volume of its own name, and no Secret, ConfigMap or path of its node',
        },
        {
          expression: `variables.containers.all(c, size(c.?envFrom.orValue([])) == 0 && c.?env.orValue([]).all(e, !has(e.valueFrom) || has(e.valueFrom.fieldRef)))`,
          message: 'foreign environment: a sandbox takes none from Secrets or ConfigMaps',
        },
        {
          expression: `variables.containers.all(c, ${[
            'c.?securityContext.?privileged.orValue(false) == false',
            'c.?securityContext.?allowPrivilegeEscalation.orValue(true) == false',
            `'ALL' in c.?securityContext.?capabilities.?drop.orValue([])`,
            'size(c.?securityContext.?capabilities.?add.orValue([])) == 0',
            'c.?securityContext.?runAsNonRoot.orValue(true)',
            `c.?securityContext.?procMount.orValue('Default') == 'Default'`,
            `!has(c.securityContext.windowsOptions)`,
          ].join(
            ' && ',
          )}) && object.spec.?securityContext.?runAsNonRoot.orValue(false) && !has(object.spec.securityContext.windowsOptions)`,
          message: 'privileged: a sandbox runs as an ordinary user without capabilities',
        },
        {
          expression: `variables.containers.all(c, c.?securityContext.?seccompProfile.?type.orValue(object.spec.?securityContext.?seccompProfile.?type.orValue('')) == 'RuntimeDefault')`,
          message: "open to every system call: a sandbox runs under the runtime's seccomp profile",
        },
        {
          expression: `variables.containers.all(c, ${['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle'].map((field) => `!has(c.${field})`).join(' && ')})`,
          message: 'probe: its node asks nothing of a sandbox, nor anybody else on its behalf',
        },
        {
          expression: `variables.containers.all(c, 'cpu' in c.?resources.?limits.orValue({}) && 'memory' in c.?resources.?limits.orValue({}))`,
          message: 'no limits: a sandbox has limits of CPU and memory',
        },
        {
          expression: `!has(object.spec.nodeName)`,
          message: 'chosen node: the scheduler places sandboxes',
        },
      ],
    },
  };
}
