import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { isScaledByFunctions, templatesPlan, warmPoolsPlan } from './sandboxes.plan.ts';

/** What agent-sandbox makes sandboxes from, where the stack asks for it; needs its CRDs. */
export class Sandboxes extends pulumi.ComponentResource {
  constructor(
    name: string,
    args: Pick<StackConfig, 'namespaces' | 'sandboxes' | 'signingKeys'>,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super('porthole:infra:Sandboxes', name, {}, opts);
    const { CustomResource } = kubernetes.apiextensions;
    const templates = templatesPlan(args).map(
      (plan) => new CustomResource(`${name}-template-${plan.metadata.name}`, plan, { parent: this }),
    );
    const pools = warmPoolsPlan(args).map(
      (plan) =>
        new CustomResource(`${name}-pool-${plan.metadata.name}`, plan, {
          parent: this,
          dependsOn: templates,
          // The functions scale the pool that has a target, through its scale subresource.
          ignoreChanges: isScaledByFunctions(args, plan.metadata.name) ? ['spec.replicas'] : [],
        }),
    );
    this.registerOutputs({ templates: templates.map(({ id }) => id), pools: pools.map(({ id }) => id) });
  }
}
