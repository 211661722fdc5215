import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { lifecyclePlan } from './lifecycle.plan.ts';

/** Stops idle sandboxes and destroys expired ones, every minute. */
export class Lifecycle extends pulumi.ComponentResource {
  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Lifecycle', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    const job = new kubernetes.batch.v1.CronJob(name, resolve(lifecyclePlan(config)), { parent: this });
    this.registerOutputs({ job: job.id });
  }
}
