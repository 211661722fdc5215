import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { namespacesPlan } from './namespaces.plan.ts';

/** The namespaces that everything else stands in. */
export class Namespaces extends pulumi.ComponentResource {
  readonly made: readonly kubernetes.core.v1.Namespace[];

  constructor(name: string, args: Pick<StackConfig, 'namespaces'>, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Namespaces', name, {}, opts);
    this.made = namespacesPlan(args).map(
      (plan) => new kubernetes.core.v1.Namespace(`${name}-${plan.metadata.name}`, plan, { parent: this }),
    );
    this.registerOutputs({ made: this.made.map((namespace) => namespace.metadata.name) });
  }
}
