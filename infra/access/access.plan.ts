import { STACK_LABELS } from '../labels.ts';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';

/** Service accounts of the stack, all in the functions' namespace. */
export const SERVICE_ACCOUNTS = { functions: 'porthole', reaper: 'porthole-reaper' } as const;

const GATEWAY_API = 'gateway.networking.k8s.io';
const SANDBOX_API = 'agents.x-k8s.io';
const CLAIM_API = 'extensions.agents.x-k8s.io';

/**
 * What the functions do in the previews' namespace, and nothing else anywhere. They never read Secrets or ConfigMaps,
 * never change a pod, and touch routes only there: the API's own route is out of their reach.
 */
const FUNCTION_RULES = [
  {
    apiGroups: [GATEWAY_API],
    resources: ['httproutes'],
    verbs: ['get', 'list', 'create', 'patch', 'delete'],
  },
  { apiGroups: [''], resources: ['services'], verbs: ['get', 'list', 'create', 'patch', 'delete'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch', 'create', 'delete'] },
  // A WebSocket upgrade is a GET; newer API servers ask for `create` as well.
  { apiGroups: [''], resources: ['pods/exec', 'pods/portforward'], verbs: ['get', 'create'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'list', 'create', 'delete'] },
  {
    apiGroups: [CLAIM_API],
    resources: ['sandboxclaims'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: [CLAIM_API], resources: ['sandboxwarmpools'], verbs: ['get', 'list', 'watch'] },
  // Stopping and resuming a claimed sandbox is a patch of its operating mode.
  { apiGroups: [SANDBOX_API], resources: ['sandboxes'], verbs: ['get', 'list', 'watch', 'patch'] },
];

/** The reaper judges and deletes; it makes and changes nothing. */
const REAPER_RULES = [
  { apiGroups: [GATEWAY_API], resources: ['httproutes'], verbs: ['get', 'list', 'delete'] },
  { apiGroups: [''], resources: ['services'], verbs: ['get', 'list', 'delete'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
  { apiGroups: [CLAIM_API], resources: ['sandboxclaims'], verbs: ['get', 'list'] },
  { apiGroups: [SANDBOX_API], resources: ['sandboxes'], verbs: ['get', 'list'] },
];

/** One service account with its role in the previews' namespace. */
export function accessPlan({ namespaces }: Pick<StackConfig, 'namespaces'>) {
  return [
    account('functions', SERVICE_ACCOUNTS.functions, FUNCTION_RULES),
    account('reaper', SERVICE_ACCOUNTS.reaper, REAPER_RULES),
  ];

  function account(id: keyof typeof SERVICE_ACCOUNTS, name: string, rules: typeof FUNCTION_RULES) {
    const there = { name, namespace: namespaces.previews, labels: STACK_LABELS };
    return {
      id,
      serviceAccount: {
        metadata: { name, namespace: namespaces.functions, labels: STACK_LABELS },
        // The pods that need the token ask for it.
        automountServiceAccountToken: false,
      },
      role: { metadata: there, rules },
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
