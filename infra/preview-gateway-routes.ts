import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { SettingsWithOutputs } from './settings-with-outputs.ts';
import { existingGatewayProblems, gatewayClassProblems, gatewayPlans, KIND } from './gateway.plan.ts';

interface GatewaySpec {
  readonly gatewayClassName?: string;
  readonly listeners?: readonly { readonly name: string }[];
  readonly allowedListeners?: { readonly namespaces?: { readonly from?: string } };
}

interface GatewayStatus {
  readonly addresses?: readonly { readonly value: string }[];
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

/** A GatewayClass with the status that its controller reports; read, never created. */
class ReportedClass extends kubernetes.apiextensions.CustomResource {
  declare readonly status: pulumi.Output<Parameters<typeof gatewayClassProblems>[0]>;

  constructor(name: string, opts: pulumi.CustomResourceOptions & { readonly id: string }) {
    super(name, { apiVersion: KIND.apiVersion, kind: 'GatewayClass', status: undefined }, opts);
  }
}

/** A Gateway with the spec and status that the cluster reports for it. */
class SharedGateway extends kubernetes.apiextensions.CustomResource {
  declare readonly spec: pulumi.Output<GatewaySpec | undefined>;
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

  constructor(
    name: string,
    args: PortholeArgs | SettingsWithOutputs,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super('porthole:infra:Gateway', name, {}, opts);
    const { config, resolve } = SettingsWithOutputs.of(args);
    const { CustomResource } = kubernetes.apiextensions;
    const addresses = resolve(gatewayPlans(config)).map(({ existing, made }, at) => {
      const zone = config.zones[at - 1]?.zone;
      const id = zone === undefined ? name : `${name}-${zone}`;
      const found = existing === undefined ? undefined : this.#existing(id, existing, made?.manifest.kind);
      if (made === undefined) return found;
      const certificates = made.certificates.map(
        (plan) => new CustomResource(`${name}-certificate-${plan.metadata.name}`, plan, { parent: this }),
      );
      const within = { parent: this, dependsOn: certificates };
      if (made.manifest.kind === 'Gateway') return addressOf(this.#made(id, made.manifest, within));
      void new CustomResource(`${id}-listeners`, made.manifest, within);
      return found;
    });
    this.address = addresses[0] ?? pulumi.output(undefined);
    this.registerOutputs({ addresses });
  }

  /**
   * An update reads the class first: it would otherwise wait for a controller until the timeout.
   * A preview does not: another part of the program may make it.
   */
  #made(name: string, manifest: Made, opts: pulumi.CustomResourceOptions): SharedGateway {
    if (pulumi.runtime.isDryRun()) return new SharedGateway(name, manifest, opts);
    const { gatewayClassName } = manifest.spec;
    const id = `${name}-className`;
    const found = new ReportedClass(id, { parent: this, id: gatewayClassName });
    const checked = found.status.apply((status) => {
      const problems = gatewayClassProblems(status);
      if (problems.length === 0) return gatewayClassName;
      throw new pulumi.RunError(`gateway.className ${gatewayClassName} ${problems.join('; it ')}.`);
    });
    const spec = { ...manifest.spec, gatewayClassName: checked };
    return new SharedGateway(name, { ...manifest, spec }, opts);
  }

  /** Read, not created: the update fails if the Gateway does not exist or cannot serve. */
  #existing(
    name: string,
    { name: called, namespace, sectionName, apiSectionName }: ExistingGateway,
    attached: string | undefined,
  ): pulumi.Output<string | undefined> {
    const id = pulumi.interpolate`${namespace}/${called}`;
    const found = new SharedGateway(name, KIND, { parent: this, id });
    const classStatus = found.spec.apply((spec) =>
      spec?.gatewayClassName === undefined
        ? undefined
        : new ReportedClass(`${name}-class`, { parent: this, id: spec.gatewayClassName }).status,
    );
    return pulumi.all([found.spec, found.status, classStatus, id]).apply(([spec, status, ofClass, of]) => {
      const problems = existingGatewayProblems({ spec, status }, [sectionName, apiSectionName], attached);
      problems.push(...gatewayClassProblems(ofClass).map((each) => `has a class that ${each}`));
      if (problems.length > 0) throw new pulumi.RunError(`The Gateway ${of} ${problems.join('; it ')}.`);
      return status?.addresses?.[0]?.value;
    });
  }
}

interface Made {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: { readonly gatewayClassName: string };
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
