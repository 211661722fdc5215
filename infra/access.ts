import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { accessPlan } from './access.plan.ts';

/** Service accounts of the functions and the CronJobs, and their roles. */
export class Access extends pulumi.ComponentResource {
  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Access', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    const { ServiceAccount } = kubernetes.core.v1;
    const { Role, RoleBinding } = kubernetes.rbac.v1;
    const bindings = resolve(accessPlan(config)).map(({ id, serviceAccount, role, binding }) => {
      const account = new ServiceAccount(`${name}-${id}`, serviceAccount, { parent: this });
      const granted = new Role(`${name}-${id}-role`, role, { parent: this });
      return new RoleBinding(`${name}-${id}-binding`, binding, {
        parent: this,
        dependsOn: [account, granted],
      });
    });
    this.registerOutputs({ bindings: bindings.map(({ id }) => id) });
  }
}
