import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { isScaledByFunctions, templatesPlan, warmPoolsPlan } from './sandboxes.plan.ts';

/** What agent-sandbox makes sandboxes from, where the stack asks for it; needs its CRDs. */
export class Sandboxes extends pulumi.ComponentResource {
  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Sandboxes', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    const { CustomResource } = kubernetes.apiextensions;
    const templates = resolve(templatesPlan(config)).map(
      (plan) => new CustomResource(`${name}-template-${plan.metadata.name}`, plan, { parent: this }),
    );
    const pools = resolve(warmPoolsPlan(config)).map(
      (plan) =>
        new CustomResource(`${name}-pool-${plan.metadata.name}`, plan, {
          parent: this,
          dependsOn: templates,
          // The functions scale the pool that has a target, through its scale subresource.
          ignoreChanges: isScaledByFunctions(config, plan.metadata.name) ? ['spec.replicas'] : [],
        }),
    );
    this.registerOutputs({ templates: templates.map(({ id }) => id), pools: pools.map(({ id }) => id) });
  }
}
