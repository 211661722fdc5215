import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { lifecyclePlan } from './lifecycle.plan.ts';

/** Stops and destroys sandboxes whose time has come, every minute. */
export class Lifecycle extends pulumi.ComponentResource {
  constructor(
    name: string,
    args: Pick<StackConfig, 'namespaces' | 'functions' | 'gateway' | 'archives'>,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super('porthole:infra:Lifecycle', name, {}, opts);
    const job = new kubernetes.batch.v1.CronJob(name, lifecyclePlan(args), { parent: this });
    this.registerOutputs({ job: job.id });
  }
}
