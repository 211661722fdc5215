import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { certificatesPlan, gatewayPlan } from './gateway.plan.ts';

interface GatewayStatus {
  readonly addresses?: readonly { readonly value: string }[];
}

/** A Gateway with the status that the cluster reports for it. */
class SharedGateway extends kubernetes.apiextensions.CustomResource {
  declare readonly status: pulumi.Output<GatewayStatus | undefined>;

  constructor(name: string, plan: ReturnType<typeof gatewayPlan>, opts: pulumi.CustomResourceOptions) {
    // Only properties named here are read back from the cluster.
    super(name, { ...plan, status: undefined }, opts);
  }
}

/** The shared preview Gateway, and the certificates of its listeners where an issuer makes them. */
export class Gateway extends pulumi.ComponentResource {
  /** IP address or host name that DNS must point the zone at; undefined while the cluster has not told. */
  readonly address: pulumi.Output<string | undefined>;

  constructor(
    name: string,
    args: Pick<StackConfig, 'zone' | 'apiHost' | 'namespaces' | 'gateway' | 'certificates'>,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super('porthole:infra:Gateway', name, {}, opts);
    const certificates = certificatesPlan(args).map(
      (plan) =>
        new kubernetes.apiextensions.CustomResource(`${name}-certificate-${plan.metadata.name}`, plan, {
          parent: this,
        }),
    );
    const gateway = new SharedGateway(name, gatewayPlan(args), { parent: this, dependsOn: certificates });
    this.address = gateway.status.apply((status) => status?.addresses?.[0]?.value);
    this.registerOutputs({ gateway: gateway.id, address: this.address });
  }
}
