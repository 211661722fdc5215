import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { quotaPlan, sandboxQuotaPlan } from './quota.plan.ts';

/** The global caps on previews and on sandboxes, which the API server itself keeps. */
export class Quota extends pulumi.ComponentResource {
  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Quota', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    const { ResourceQuota } = kubernetes.core.v1;
    const previews = new ResourceQuota(name, resolve(quotaPlan(config)), { parent: this });
    const sandboxes = new ResourceQuota(`${name}-sandboxes`, resolve(sandboxQuotaPlan(config)), {
      parent: this,
    });
    this.registerOutputs({ previews: previews.id, sandboxes: sandboxes.id });
  }
}
