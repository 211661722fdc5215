import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { snapshotsPlan } from './snapshots.plan.ts';

/** Removes the editor's snapshots whose time is over, every ten minutes. */
export class Snapshots extends pulumi.ComponentResource {
  constructor(
    name: string,
    args: Pick<StackConfig, 'namespaces' | 'functions' | 'gateway'>,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super('porthole:infra:Snapshots', name, {}, opts);
    const job = new kubernetes.batch.v1.CronJob(name, snapshotsPlan(args), { parent: this });
    this.registerOutputs({ job: job.id });
  }
}
