import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { apiRoutePlan, fallbackRoutesPlan } from './routes.plan.ts';

/**
 * The routes that exist as long as the stack: the API's, and a wildcard behind the previews of each
 * zone.
 */
export class Routes extends pulumi.ComponentResource {
  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Routes', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    const { CustomResource } = kubernetes.apiextensions;
    const api = new CustomResource(`${name}-api`, resolve(apiRoutePlan(config)), { parent: this });
    const fallbacks = resolve(fallbackRoutesPlan(config)).map(
      (plan, at) =>
        new CustomResource(
          at === 0 ? `${name}-fallback` : `${name}-fallback-${config.zones[at - 1]?.zone}`,
          plan,
          { parent: this },
        ),
    );
    this.registerOutputs({ api: api.id, fallbacks: fallbacks.map(({ id }) => id) });
  }
}
