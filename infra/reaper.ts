import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { reaperPlan } from './reaper.plan.ts';

/** Ends expired previews, every minute. */
export class Reaper extends pulumi.ComponentResource {
  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Reaper', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    const job = new kubernetes.batch.v1.CronJob(name, resolve(reaperPlan(config)), { parent: this });
    this.registerOutputs({ job: job.id });
  }
}
