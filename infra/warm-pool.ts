import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { warmPoolPlan } from './warm-pool.plan.ts';

/** Keeps the pool of sandboxes at its target, every minute, where the stack has one. */
export class WarmPool extends pulumi.ComponentResource {
  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:WarmPool', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    const plan = resolve(warmPoolPlan(config));
    const job = plan && new kubernetes.batch.v1.CronJob(name, plan, { parent: this });
    this.registerOutputs({ job: job?.id });
  }
}
