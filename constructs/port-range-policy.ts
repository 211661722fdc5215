import { ApiObject } from 'cdk8s';
import { Construct } from 'constructs';
import { denyBinding } from './admission-expressions.ts';
import {
  type GatewayPods,
  networkRangeSpec,
  serviceRangeSpec,
  type ServicePolicyProps,
} from './port-range-manifests.ts';

export interface PortRangePolicyProps extends ServicePolicyProps {
  /** Name of every object; the admission policy and its binding are cluster-scoped. */
  readonly name: string;
  /** The gateway's own pods: the only ones that reach the ports. */
  readonly gatewayPods: GatewayPods;
  /**
   * Labels of every object.
   * @default - none
   */
  readonly labels?: Readonly<Record<string, string>>;
}

/**
 * Holds previews to a range of ports: the API server denies Services that lead to another one, and
 * the network lets only the gateway's pods reach the range. It closes every other port of the pods,
 * unless another NetworkPolicy allows it.
 */
export class PortRangePolicy extends Construct {
  readonly policy: ApiObject;
  readonly binding: ApiObject;
  readonly networkPolicy: ApiObject;

  /** @throws Error that names the property with the invalid value */
  constructor(scope: Construct, id: string, props: PortRangePolicyProps) {
    super(scope, id);
    const { name, namespace, labels, minPort, maxPort, pods, gatewayPods } = props;
    for (const [property, port] of Object.entries({ minPort, maxPort })) {
      if (!Number.isInteger(port) || port < 1 || port > 65_535) {
        throw new Error(`PortRangePolicy.${property} must be an integer between 1 and 65535, got ${port}.`);
      }
    }
    if (minPort > maxPort) {
      throw new Error(`PortRangePolicy.minPort (${minPort}) must not be above maxPort (${maxPort}).`);
    }
    // An empty selector selects every pod.
    for (const [property, selected] of Object.entries({ pods, 'gatewayPods.labels': gatewayPods.labels })) {
      if (selected !== undefined && Object.keys(selected).length === 0) {
        throw new Error(`PortRangePolicy.${property} must have a label.`);
      }
    }
    const metadata = { name, ...(labels !== undefined && { labels }) };
    const admission = { apiVersion: 'admissionregistration.k8s.io/v1', metadata };
    this.policy = new ApiObject(this, 'policy', {
      ...admission,
      kind: 'ValidatingAdmissionPolicy',
      spec: serviceRangeSpec(props),
    });
    this.binding = new ApiObject(this, 'binding', {
      ...admission,
      kind: 'ValidatingAdmissionPolicyBinding',
      spec: denyBinding(metadata),
    });
    this.networkPolicy = new ApiObject(this, 'network', {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { ...metadata, namespace },
      spec: networkRangeSpec(props, gatewayPods),
    });
  }
}
