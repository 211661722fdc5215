/**
 * Specs of what holds previews to a range of ports, as plain objects: shared by the construct and
 * the infrastructure program. Values are not checked here.
 */
import { GUEST_PREVIEW_PORT } from '../protocol/guest/previews-protocol.ts';
import { hasEntries, hasLabels, inNamespace, isNamed, isSentBy } from './admission-expressions.ts';
import { LABELS, NAMESPACE_NAME, PREVIEW_LABELS, PREVIEW_NAME, SANDBOX_POD_LABELS } from './names.ts';

export interface PortRange {
  /** Namespace of previews and of the pods that they lead to. */
  readonly namespace: string;
  readonly minPort: number;
  readonly maxPort: number;
  /**
   * `guest`: previews may also lead to the guest of a sandbox, which reaches the app on loopback.
   * @default 'direct'
   */
  readonly upstream?: 'guest' | 'direct';
  /**
   * Labels of the pods that previews lead to.
   * @default - sandboxes; previews then have the names that Porthole gives them
   */
  readonly pods?: Readonly<Record<string, string>>;
}

export interface ServicePolicyProps extends PortRange {
  /**
   * Users that write no other Services in the namespace, e.g.
   * `system:serviceaccount:porthole:porthole`. Of other users, Services without the labels of a
   * preview are not checked.
   * @default - none
   */
  readonly accounts?: readonly string[];
}

/**
 * Spec of a ValidatingAdmissionPolicy for previews' Services: cluster-internal, only to a pod's
 * allowed ports, or to its guest if that serves previews.
 */
export function serviceRangeSpec(props: ServicePolicyProps) {
  const { namespace, minPort, maxPort, upstream = 'direct', pods, accounts = [] } = props;
  const inRange = `int(p.targetPort) >= ${minPort} && int(p.targetPort) <= ${maxPort}`;
  // Sandboxes without a guest, and functions from before a change of the setting, use the range.
  const isTarget =
    upstream === 'guest' ? `(int(p.targetPort) == ${GUEST_PREVIEW_PORT} || (${inRange}))` : inRange;
  const guestPort = upstream === 'guest' ? `, or to the guest's ${GUEST_PREVIEW_PORT}` : '';
  const isPreview = hasLabels('object', PREVIEW_LABELS);
  const selector = 'object.spec.?selector';
  return {
    failurePolicy: 'Fail',
    matchConstraints: inNamespace(namespace, {
      apiGroups: [''],
      resources: ['services'],
      operations: ['CREATE', 'UPDATE'],
    }),
    matchConditions: [
      accounts.length === 0
        ? { name: 'a-preview', expression: isPreview }
        : { name: 'a-preview-or-by-the-functions', expression: `(${isSentBy(accounts)}) || (${isPreview})` },
      { name: 'not-being-deleted', expression: '!has(object.metadata.deletionTimestamp)' },
    ],
    validations: [
      ...(accounts.length === 0
        ? []
        : [
            {
              expression: isPreview,
              message: 'not a preview: the functions make and change no other Service',
            },
          ]),
      ...(pods === undefined
        ? [
            {
              expression: isNamed(PREVIEW_NAME),
              message: "foreign name: a preview's Service is named preview-{20 hex}",
            },
          ]
        : []),
      {
        expression: `object.spec.?type.orValue('ClusterIP') == 'ClusterIP' && size(object.spec.?externalIPs.orValue([])) == 0`,
        message: "foreign type: a preview's Service is reached from inside the cluster alone",
      },
      pods === undefined
        ? {
            expression: `${selector}[?'${LABELS.sandbox}'].orValue('') != ''`,
            message: `foreign selector: a preview's Service selects one sandbox, by ${LABELS.sandbox}`,
          }
        : {
            expression: hasEntries(selector, pods),
            message: `foreign selector: a preview's Service selects pods by ${Object.keys(pods).join(', ')}`,
          },
      {
        expression: `size(object.spec.?ports.orValue([])) == 1 && object.spec.ports.all(p, p.port == 80 && p.?protocol.orValue('TCP') == 'TCP' && type(p.targetPort) == int && ${isTarget})`,
        message: `port out of range: a preview's Service leads from 80 to ${minPort} to ${maxPort}${guestPort}`,
      },
      {
        expression: `request.operation == 'CREATE' || object.spec == oldObject.spec`,
        message: 'changed identity: an existing preview keeps its Service as it is',
      },
    ],
  };
}

export interface GatewayPods {
  readonly namespace: string;
  /** Labels of the gateway's own pods. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Spec of a NetworkPolicy: of all pods, only the gateway's reach these ports. */
export function networkRangeSpec(range: PortRange, gateway: GatewayPods) {
  const { minPort, maxPort, upstream = 'direct', pods = SANDBOX_POD_LABELS } = range;
  return {
    podSelector: { matchLabels: pods },
    policyTypes: ['Ingress'],
    ingress: [
      {
        from: [podsOf(gateway.namespace, gateway.labels)],
        ports: [
          { protocol: 'TCP', port: minPort, endPort: maxPort },
          ...(upstream === 'guest' ? [{ protocol: 'TCP', port: GUEST_PREVIEW_PORT }] : []),
        ],
      },
    ],
  };
}

/** A NetworkPolicy's peer: pods with these labels; all pods of the namespace without labels. */
export function podsOf(namespace: string, matchLabels?: Readonly<Record<string, string>>) {
  return {
    namespaceSelector: { matchLabels: { [NAMESPACE_NAME]: namespace } },
    ...(matchLabels !== undefined && { podSelector: { matchLabels } }),
  };
}
