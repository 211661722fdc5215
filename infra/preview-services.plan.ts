import { LABELS, PREVIEW_LABELS } from '../constructs/names.ts';
import { GUEST_PREVIEW_PORT } from '../guest/protocol/previews-protocol.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { PREVIEW_NAME } from './preview-routes.plan.ts';
import { hasLabels, inPreviewsNamespace, isNamed, isOurs, policyMetadata, quote } from './expressions.ts';

/**
 * Admission policy for previews' Services: cluster-internal, only to a sandbox's allowed ports, or
 * to its guest if that serves previews.
 */
export function previewServicesPlan({ namespaces, preview }: Pick<StackConfig, 'namespaces' | 'preview'>) {
  const { allowedPortMin, allowedPortMax, upstream } = preview;
  const inRange = `int(p.targetPort) >= ${allowedPortMin} && int(p.targetPort) <= ${allowedPortMax}`;
  // Sandboxes without a guest, and functions from before a change of the setting, use the range.
  const isTarget =
    upstream === 'guest' ? `(int(p.targetPort) == ${GUEST_PREVIEW_PORT} || (${inRange}))` : inRange;
  const guestPort = upstream === 'guest' ? `, or to the guest's ${GUEST_PREVIEW_PORT}` : '';
  return {
    metadata: policyMetadata(namespaces, 'preview-services'),
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: inPreviewsNamespace(namespaces, {
        apiGroups: [''],
        resources: ['services'],
        operations: ['CREATE', 'UPDATE'],
      }),
      matchConditions: [
        {
          name: 'a-preview-or-by-the-functions',
          expression: `(${isOurs(namespaces)}) || (${hasLabels('object', PREVIEW_LABELS)})`,
        },
        { name: 'not-being-deleted', expression: '!has(object.metadata.deletionTimestamp)' },
      ],
      validations: [
        {
          expression: hasLabels('object', PREVIEW_LABELS),
          message: 'not a preview: the functions make and change no other Service',
        },
        {
          expression: isNamed(PREVIEW_NAME),
          message: "foreign name: a preview's Service is named preview-{20 hex}",
        },
        {
          expression: `object.spec.?type.orValue('ClusterIP') == 'ClusterIP' && size(object.spec.?externalIPs.orValue([])) == 0`,
          message: "foreign type: a preview's Service is reached from inside the cluster alone",
        },
        {
          expression: `object.spec.?selector[?${quote(LABELS.sandbox)}].orValue('') != ''`,
          message: `foreign selector: a preview's Service selects one sandbox, by ${LABELS.sandbox}`,
        },
        {
          expression: `size(object.spec.?ports.orValue([])) == 1 && object.spec.ports.all(p, p.port == 80 && p.?protocol.orValue('TCP') == 'TCP' && type(p.targetPort) == int && ${isTarget})`,
          message: `port out of range: a preview's Service leads from 80 to ${allowedPortMin} to ${allowedPortMax}${guestPort}`,
        },
        {
          expression: `request.operation == 'CREATE' || object.spec == oldObject.spec`,
          message: 'changed identity: a standing preview keeps its Service as it is',
        },
      ],
    },
  };
}
