import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { quotaPlan } from './quota.plan.ts';

/** The global cap on previews, which the API server itself keeps. */
export class Quota extends pulumi.ComponentResource {
  constructor(
    name: string,
    args: Pick<StackConfig, 'namespaces' | 'preview' | 'sandboxes'>,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super('porthole:infra:Quota', name, {}, opts);
    const quota = new kubernetes.core.v1.ResourceQuota(name, quotaPlan(args), { parent: this });
    this.registerOutputs({ quota: quota.id });
  }
}
