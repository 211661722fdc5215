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
 * Admission policy: a claim stays with its installation, and no other may create it. A create of
 * an existing object is otherwise refused without the name of its owner, and `kubectl apply` and
 * Argo CD would overwrite it.
 */
export function zoneClaimsPolicyPlan(config: StackConfig) {
  const { namespaces } = config;
  const { functions } = namespaces;
  const claims = JSON.stringify(servedZones(config).map(({ zone }) => PREFIX + zone));
  const owner = (object: string) =>
    `${object}.metadata.?labels.orValue({})[?'${LABELS.installation}'].orValue('')`;
  const taken = (by: string) =>
    `'taken zone: ' + object.metadata.name.substring(${PREFIX.length}) + ' belongs to the installation in namespace ' + ${by} + '. Choose another zone, or remove that installation'`;
  const message = 'taken zone: it belongs to another installation';
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
            operations: ['CREATE', 'UPDATE'],
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
          expression: `oldObject == null || ${owner('object')} == ${owner('oldObject')}`,
          messageExpression: taken(owner('oldObject')),
          message,
        },
        {
          expression: `oldObject != null || !(object.metadata.name in ${claims}) || ${owner('object')} == '${functions}'`,
          messageExpression: taken(`'${functions}'`),
          message,
        },
      ],
    },
  };
}
