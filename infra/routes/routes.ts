import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { apiRoutePlan, fallbackRoutePlan } from './routes.plan.ts';

/** The two routes that stand as long as the stack: the API's, and the wildcard behind every preview. */
export class Routes extends pulumi.ComponentResource {
  constructor(
    name: string,
    args: Pick<StackConfig, 'zone' | 'apiHost' | 'namespaces' | 'gateway'>,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super('porthole:infra:Routes', name, {}, opts);
    const { CustomResource } = kubernetes.apiextensions;
    const api = new CustomResource(`${name}-api`, apiRoutePlan(args), { parent: this });
    const fallback = new CustomResource(`${name}-fallback`, fallbackRoutePlan(args), { parent: this });
    this.registerOutputs({ api: api.id, fallback: fallback.id });
  }
}
