import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { namespacesPlan } from './namespaces.plan.ts';

/** The namespaces of all other objects. */
export class Namespaces extends pulumi.ComponentResource {
  readonly made: readonly kubernetes.core.v1.Namespace[];

  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Namespaces', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    this.made = resolve(namespacesPlan(config)).map(
      (plan) => new kubernetes.core.v1.Namespace(`${name}-${plan.metadata.name}`, plan, { parent: this }),
    );
    this.registerOutputs({ made: this.made.map((namespace) => namespace.metadata.name) });
  }
}
