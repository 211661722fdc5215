import { defaultWarmPool, sandboxProvider } from '../functions/sandbox-provider.plan.ts';
import { STACK_LABELS } from '../labels.ts';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { functionNeeds, type Need, reaperNeeds, rulesOf } from './needs.ts';

/** Service accounts of the stack, all in the functions' namespace. */
export const SERVICE_ACCOUNTS = { functions: 'porthole', reaper: 'porthole-reaper' } as const;

/** Both service accounts, each with its role in the previews' namespace: the API's own route is out of their reach. */
export function accessPlan({ namespaces, sandboxes }: Pick<StackConfig, 'namespaces' | 'sandboxes'>) {
  const needs = functionNeeds(sandboxProvider(sandboxes), defaultWarmPool(sandboxes));
  return [account('functions', needs), account('reaper', reaperNeeds())];

  function account(id: keyof typeof SERVICE_ACCOUNTS, needs: readonly Need[]) {
    const name = SERVICE_ACCOUNTS[id];
    const there = { name, namespace: namespaces.previews, labels: STACK_LABELS };
    return {
      id,
      serviceAccount: {
        metadata: { name, namespace: namespaces.functions, labels: STACK_LABELS },
        // The pods that need the token ask for it.
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

/** How the API server names a service account of the stack. */
export function userName(namespace: string, account: keyof typeof SERVICE_ACCOUNTS): string {
  return `system:serviceaccount:${namespace}:${SERVICE_ACCOUNTS[account]}`;
}
