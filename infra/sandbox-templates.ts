import * as kubernetes from '@pulumi/kubernetes';
import { component } from './settings-with-outputs.ts';
import { isScaledByFunctions, templatesPlan, warmPoolsPlan } from './sandboxes.plan.ts';

/** What agent-sandbox makes sandboxes from, where the stack asks for it; needs its CRDs. */
export class Sandboxes extends component('Sandboxes', ({ name, config, resolve, parent }) => {
  const { CustomResource } = kubernetes.apiextensions;
  const templates = resolve(templatesPlan(config)).map(
    (plan) => new CustomResource(`${name}-template-${plan.metadata.name}`, plan, { parent }),
  );
  const pools = resolve(warmPoolsPlan(config)).map(
    (plan) =>
      new CustomResource(`${name}-pool-${plan.metadata.name}`, plan, {
        parent,
        dependsOn: templates,
        // The functions scale the pool that has a target, through its scale subresource.
        ignoreChanges: isScaledByFunctions(config.sandboxes, plan.metadata.name) ? ['spec.replicas'] : [],
      }),
  );
  return { templates: templates.map(({ id }) => id), pools: pools.map(({ id }) => id) };
}) {}
