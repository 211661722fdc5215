import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { defaultWarmPool, sandboxProvider } from './sandbox-provider.plan.ts';
import { SERVICE_ACCOUNTS, STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';
import {
  type Need,
  brokerNeeds,
  functionNeeds,
  lifecycleNeeds,
  reaperNeeds,
  rulesOf,
  snapshotsNeeds,
} from './needs.ts';

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

/**
 * The service accounts, each with its role in the previews' namespace: they cannot access the API's
 * own route.
 */
export function accessPlan({
  namespaces,
  sandboxes,
  archives,
  broker,
}: Pick<StackConfig, 'namespaces' | 'sandboxes' | 'archives' | 'broker'>) {
  const provider = sandboxProvider(sandboxes);
  return [
    account('functions', functionNeeds(provider, defaultWarmPool(sandboxes))),
    ...(broker === undefined ? [] : [account('broker', brokerNeeds())]),
    account('reaper', reaperNeeds()),
    account('lifecycle', lifecycleNeeds(provider, { archives: archives !== undefined })),
    account('snapshots-clean', snapshotsNeeds(provider)),
  ];

  function account(id: keyof typeof SERVICE_ACCOUNTS, needs: readonly Need[]) {
    const name = SERVICE_ACCOUNTS[id];
    const there = { name, namespace: namespaces.previews, labels: STACK_LABELS };
    return {
      id,
      serviceAccount: {
        metadata: { name, namespace: namespaces.functions, labels: STACK_LABELS },
        // Only the pods that need the token mount it.
        automountServiceAccountToken: false,
      },
      role: { metadata: there, rules: rulesOf(needs) },
      binding: {
        metadata: there,
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
        subjects: [{ kind: 'ServiceAccount', name, namespace: namespaces.functions }],
      },
    };
  }
}

/** User names of the stack's service accounts, as the API server sees them. */
export function userNames(namespace: string): readonly string[] {
  return Object.values(SERVICE_ACCOUNTS).map((name) => `system:serviceaccount:${namespace}:${name}`);
}
