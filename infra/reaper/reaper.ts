import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { reaperPlan } from './reaper.plan.ts';

/** Ends previews whose time has come, every minute. */
export class Reaper extends pulumi.ComponentResource {
  constructor(
    name: string,
    args: Pick<StackConfig, 'namespaces' | 'functions' | 'gateway'>,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super('porthole:infra:Reaper', name, {}, opts);
    const job = new kubernetes.batch.v1.CronJob(name, reaperPlan(args), { parent: this });
    this.registerOutputs({ job: job.id });
  }
}
