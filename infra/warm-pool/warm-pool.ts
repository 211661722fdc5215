import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { warmPoolPlan } from './warm-pool.plan.ts';

/** Keeps the pool of sandboxes at its target, every minute, where the stack has one. */
export class WarmPool extends pulumi.ComponentResource {
  constructor(
    name: string,
    args: Pick<StackConfig, 'namespaces' | 'functions' | 'gateway' | 'sandboxes'>,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super('porthole:infra:WarmPool', name, {}, opts);
    const plan = warmPoolPlan(args);
    const job = plan && new kubernetes.batch.v1.CronJob(name, plan, { parent: this });
    this.registerOutputs({ job: job?.id });
  }
}
