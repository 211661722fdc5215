import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { snapshotsPlan } from './snapshots.plan.ts';

/** Removes the editor's expired snapshots, every ten minutes. */
export class Snapshots extends pulumi.ComponentResource {
  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Snapshots', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    const job = new kubernetes.batch.v1.CronJob(name, resolve(snapshotsPlan(config)), { parent: this });
    this.registerOutputs({ job: job.id });
  }
}
