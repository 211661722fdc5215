import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { quotaPlan, sandboxQuotaPlan } from './quota.plan.ts';

/** The global caps on previews and on sandboxes, which the API server itself keeps. */
export class Quota extends pulumi.ComponentResource {
  constructor(
    name: string,
    args: Pick<StackConfig, 'namespaces' | 'preview' | 'sandboxes'>,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super('porthole:infra:Quota', name, {}, opts);
    const { ResourceQuota } = kubernetes.core.v1;
    const previews = new ResourceQuota(name, quotaPlan(args), { parent: this });
    const sandboxes = new ResourceQuota(`${name}-sandboxes`, sandboxQuotaPlan(args), { parent: this });
    this.registerOutputs({ previews: previews.id, sandboxes: sandboxes.id });
  }
}
