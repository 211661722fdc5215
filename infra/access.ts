import * as kubernetes from '@pulumi/kubernetes';
import { component } from './settings-with-outputs.ts';
import { defaultWarmPool, sandboxProvider } from './sandbox-provider.plan.ts';
import { ownMetadata, SERVICE_ACCOUNTS, STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';
import {
  type Need,
  brokerNeeds,
  functionNeeds,
  lifecycleNeeds,
  reaperNeeds,
  rulesOf,
  snapshotsNeeds,
} from './rbac-rules.ts';

/** Service accounts of the functions and the CronJobs, and their roles. */
export class Access extends component('Access', ({ name, config, resolve, parent }) => {
  const { ServiceAccount } = kubernetes.core.v1;
  const { Role, RoleBinding } = kubernetes.rbac.v1;
  const bindings = resolve(accessPlan(config)).map(({ id, serviceAccount, role, binding }) => {
    const account = new ServiceAccount(`${name}-${id}`, serviceAccount, { parent });
    const granted = new Role(`${name}-${id}-role`, role, { parent });
    return new RoleBinding(`${name}-${id}-binding`, binding, {
      parent,
      dependsOn: [account, granted],
    });
  });
  return { bindings: bindings.map(({ id }) => id) };
}) {}

/**
 * The service accounts, each with its role in the previews' namespace: they cannot access the API's
 * own route.
 */
export function accessPlan({ namespaces, sandboxes, archives, broker, functions }: StackConfig) {
  const provider = sandboxProvider(sandboxes);
  return [
    account('functions', functionNeeds(provider, defaultWarmPool(sandboxes))),
    ...(broker === undefined ? [] : [account('broker', brokerNeeds())]),
    account('reaper', reaperNeeds()),
    account('lifecycle', lifecycleNeeds(provider, { archives: archives !== undefined })),
    ...(functions.featuresOff.includes('editor')
      ? []
      : [account('snapshots-clean', snapshotsNeeds(provider))]),
  ];

  function account(id: keyof typeof SERVICE_ACCOUNTS, needs: readonly Need[]) {
    const name = SERVICE_ACCOUNTS[id];
    const there = { name, namespace: namespaces.previews, labels: STACK_LABELS };
    return {
      id,
      serviceAccount: {
        metadata: ownMetadata({ namespaces }, name),
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
