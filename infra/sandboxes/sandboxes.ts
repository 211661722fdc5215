import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { templatesPlan, warmPoolsPlan } from './sandboxes.plan.ts';

/** What agent-sandbox makes sandboxes from, where the stack asks for it; needs its CRDs. */
export class Sandboxes extends pulumi.ComponentResource {
  constructor(
    name: string,
    args: Pick<StackConfig, 'namespaces' | 'sandboxes'>,
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
        }),
    );
    this.registerOutputs({ templates: templates.map(({ id }) => id), pools: pools.map(({ id }) => id) });
  }
}
