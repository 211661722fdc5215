import { defaultWarmPool, sandboxProvider } from './sandbox-provider.plan.ts';
import { STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';
import {
  brokerNeeds,
  functionNeeds,
  lifecycleNeeds,
  type Need,
  reaperNeeds,
  rulesOf,
  snapshotsNeeds,
} from './needs.ts';

/** Service accounts of the stack, all in the functions' namespace. */
export const SERVICE_ACCOUNTS = {
  functions: 'porthole',
  broker: 'porthole-broker',
  reaper: 'porthole-reaper',
  lifecycle: 'porthole-lifecycle',
  'snapshots-clean': 'porthole-snapshots-clean',
} as const;

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
