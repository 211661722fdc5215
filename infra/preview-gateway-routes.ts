import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { certificatesPlan, gatewayPlan, KIND } from './gateway.plan.ts';

interface GatewayStatus {
  readonly addresses?: readonly { readonly value: string }[];
}

/** A Gateway with the status that the cluster reports for it. */
class SharedGateway extends kubernetes.apiextensions.CustomResource {
  declare readonly status: pulumi.Output<GatewayStatus | undefined>;

  constructor(
    name: string,
    plan: Pick<ReturnType<typeof gatewayPlan>, 'apiVersion' | 'kind'>,
    opts: pulumi.CustomResourceOptions,
  ) {
    // Only properties named here are read back from the cluster.
    super(name, { ...plan, status: undefined }, opts);
  }
}

/** The shared preview Gateway, and the certificates of its listeners if an issuer is configured. */
export class Gateway extends pulumi.ComponentResource {
  /** IP address or host name for the zone's DNS; undefined until the cluster reports it. */
  readonly address: pulumi.Output<string | undefined>;

  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Gateway', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    if (config.gateway.existing !== undefined) {
      const { name: existing, namespace } = resolve(config.gateway.existing);
      // Read, not created: the update fails if it does not exist.
      const id = pulumi.interpolate`${namespace}/${existing}`;
      const found = new SharedGateway(name, KIND, { parent: this, id });
      this.address = found.status.apply((status) => status?.addresses?.[0]?.value);
      this.registerOutputs({ address: this.address });
      return;
    }
    const certificates = resolve(certificatesPlan(config)).map(
      (plan) =>
        new kubernetes.apiextensions.CustomResource(`${name}-certificate-${plan.metadata.name}`, plan, {
          parent: this,
        }),
    );
    const gateway = new SharedGateway(name, resolve(gatewayPlan(config)), {
      parent: this,
      dependsOn: certificates,
    });
    this.address = gateway.status.apply((status) => status?.addresses?.[0]?.value);
    this.registerOutputs({ gateway: gateway.id, address: this.address });
  }
}
