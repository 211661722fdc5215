import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { existingGatewayProblems, gatewayPlans, KIND } from './gateway.plan.ts';

interface GatewayStatus {
  readonly addresses?: readonly { readonly value: string }[];
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

/** A Gateway with the spec and status that the cluster reports for it. */
class SharedGateway extends kubernetes.apiextensions.CustomResource {
  declare readonly spec: pulumi.Output<
    { readonly listeners?: readonly { readonly name: string }[] } | undefined
  >;
  declare readonly status: pulumi.Output<GatewayStatus | undefined>;

  constructor(
    name: string,
    plan: { readonly apiVersion: string; readonly kind: string; readonly spec?: object },
    opts: pulumi.CustomResourceOptions,
  ) {
    // Only properties named here are read back from the cluster.
    super(name, { spec: undefined, ...plan, status: undefined }, opts);
  }
}

/**
 * The Gateway of each zone, or its ListenerSet at a Gateway of others, and the certificates of its
 * listeners if an issuer is configured.
 */
export class Gateway extends pulumi.ComponentResource {
  /** IP address or host name for the zone's DNS; undefined until the cluster reports it. */
  readonly address: pulumi.Output<string | undefined>;

  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Gateway', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    const { CustomResource } = kubernetes.apiextensions;
    const addresses = resolve(gatewayPlans(config)).map(({ existing, made }, at) => {
      const zone = config.zones[at - 1]?.zone;
      const id = zone === undefined ? name : `${name}-${zone}`;
      const found = existing === undefined ? undefined : this.#existing(id, existing);
      if (made === undefined) return found;
      const certificates = made.certificates.map(
        (plan) => new CustomResource(`${name}-certificate-${plan.metadata.name}`, plan, { parent: this }),
      );
      const within = { parent: this, dependsOn: certificates };
      if (found === undefined) return addressOf(new SharedGateway(id, made.manifest, within));
      void new CustomResource(`${id}-listeners`, made.manifest, within);
      return found;
    });
    this.address = addresses[0] ?? pulumi.output(undefined);
    this.registerOutputs({ addresses });
  }

  /** Read, not created: the update fails if the Gateway does not exist or cannot serve. */
  #existing(
    name: string,
    { name: called, namespace, sectionName, apiSectionName }: ExistingGateway,
  ): pulumi.Output<string | undefined> {
    const id = pulumi.interpolate`${namespace}/${called}`;
    const found = new SharedGateway(name, KIND, { parent: this, id });
    return pulumi.all([found.spec, found.status, id]).apply(([spec, status, of]) => {
      const problems = existingGatewayProblems({ spec, status }, [sectionName, apiSectionName]);
      if (problems.length > 0) throw new pulumi.RunError(`The Gateway ${of} ${problems.join('; it ')}.`);
      return status?.addresses?.[0]?.value;
    });
  }
}

interface ExistingGateway {
  readonly name: string;
  readonly namespace: string;
  readonly sectionName?: string | undefined;
  readonly apiSectionName?: string | undefined;
}

function addressOf(gateway: SharedGateway): pulumi.Output<string | undefined> {
  return gateway.status.apply((status) => status?.addresses?.[0]?.value);
}
