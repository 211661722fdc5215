import { MATCH_ALL } from '../constructs/admission-expressions.ts';
import { LABELS } from '../constructs/names.ts';
import { policyMetadata } from './expressions.ts';
import { servedZones } from './gateway.plan.ts';
import { STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';

const PREFIX = 'porthole-zone:';

/**
 * A cluster-scoped object for each zone, named after it and without any right: two installations
 * cannot both create it, so no zone is served by two.
 */
export function zoneClaimsPlan(config: StackConfig) {
  const { functions } = config.namespaces;
  const labels = { ...STACK_LABELS, [LABELS.installation]: functions };
  // The conflict with another installation names the manager of the field.
  const annotations = { 'pulumi.com/patchFieldManager': `porthole-in-namespace-${functions}` };
  return servedZones(config).map(({ zone }) => ({
    metadata: { name: `${PREFIX}${zone}`, labels, annotations },
  }));
}

/**
 * Admission policy: a claim stays with its installation. `kubectl apply` and Argo CD would
 * otherwise overwrite it.
 */
export function zoneClaimsPolicyPlan({ namespaces }: StackConfig) {
  const owner = (object: string) =>
    `${object}.metadata.?labels.orValue({})[?'${LABELS.installation}'].orValue('')`;
  return {
    metadata: policyMetadata(namespaces, 'zone-claims'),
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        ...MATCH_ALL,
        resourceRules: [
          {
            apiGroups: ['rbac.authorization.k8s.io'],
            apiVersions: ['*'],
            resources: ['clusterroles'],
            operations: ['UPDATE'],
            scope: 'Cluster',
          },
        ],
      },
      matchConditions: [
        { name: 'a-claim', expression: `object.metadata.name.startsWith('${PREFIX}')` },
        { name: 'not-being-deleted', expression: '!has(object.metadata.deletionTimestamp)' },
      ],
      validations: [
        {
          expression: `${owner('object')} == ${owner('oldObject')}`,
          messageExpression: `'taken zone: ' + object.metadata.name.substring(${PREFIX.length}) + ' belongs to the installation in namespace ' + ${owner('oldObject')} + '. Choose another zone, or remove that installation'`,
          message: 'taken zone: it belongs to another installation',
        },
      ],
    },
  };
}
