import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { apiRoutePlan, fallbackRoutePlan } from './routes.plan.ts';

/**
 * The two routes that stand as long as the stack: the API's, and the wildcard behind every preview.
 */
export class Routes extends pulumi.ComponentResource {
  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Routes', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    const { CustomResource } = kubernetes.apiextensions;
    const api = new CustomResource(`${name}-api`, resolve(apiRoutePlan(config)), { parent: this });
    const fallback = new CustomResource(`${name}-fallback`, resolve(fallbackRoutePlan(config)), {
      parent: this,
    });
    this.registerOutputs({ api: api.id, fallback: fallback.id });
  }
}
