import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { namespacesPlan } from './namespaces.plan.ts';
import { zoneClaimsPlan } from './zone-claims.plan.ts';

/** The namespaces of all other objects, and the claims of the zones. */
export class Namespaces extends pulumi.ComponentResource {
  readonly made: readonly pulumi.Resource[];

  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Namespaces', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    const namespaces = resolve(namespacesPlan(config)).map(
      (plan) => new kubernetes.core.v1.Namespace(`${name}-${plan.metadata.name}`, plan, { parent: this }),
    );
    const claims = resolve(zoneClaimsPlan(config)).map(
      (plan, at) =>
        new kubernetes.rbac.v1.ClusterRole(
          at === 0 ? `${name}-zone` : `${name}-zone-${config.zones[at - 1]?.zone}`,
          plan,
          { parent: this },
        ),
    );
    this.made = [...namespaces, ...claims];
    this.registerOutputs({ made: namespaces.map((namespace) => namespace.metadata.name) });
  }
}
