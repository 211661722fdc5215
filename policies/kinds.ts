/**
 * Pulumi's name of a Kubernetes type, in any version of its group:
 * `kubernetes:{group}/{version}:{kind}`, or `{kind}Patch` for its server-side apply patch.
 */
function matcher(group: string, kinds: readonly string[]): (type: string) => boolean {
  const pattern = new RegExp(
    `^kubernetes:${group.replaceAll('.', '\\.')}/[^:/]+:(${kinds.join('|')})(Patch)?$`,
  );
  return (type) => pattern.test(type);
}

const isGateway = matcher('gateway.networking.k8s.io', ['Gateway', 'ListenerSet']);
const isXListenerSet = matcher('gateway.networking.x-k8s.io', ['XListenerSet']);
export const hasListeners = (type: string): boolean => isGateway(type) || isXListenerSet(type);
export const isRoute = matcher('gateway.networking.k8s.io', ['HTTPRoute']);
export const isNetworkPolicy = matcher('networking.k8s.io', ['NetworkPolicy']);
export const isConfigMap = matcher('core', ['ConfigMap']);
export const isRole = matcher('rbac.authorization.k8s.io', ['Role', 'ClusterRole']);
export const isRoleBinding = matcher('rbac.authorization.k8s.io', ['RoleBinding', 'ClusterRoleBinding']);
export const isSandboxTemplate = matcher('extensions.agents.x-k8s.io', ['SandboxTemplate']);
export const isSandbox = matcher('agents.x-k8s.io', ['Sandbox']);
export const isWarmPool = matcher('extensions.agents.x-k8s.io', ['SandboxWarmPool']);
export const isPod = matcher('core', ['Pod']);
export const isCronJob = matcher('batch', ['CronJob']);
/** Everything that makes pods from `spec.template`. */
const isController = matcher('apps', ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet']);
const isReplicationController = matcher('core', ['ReplicationController']);
const isJob = matcher('batch', ['Job']);
export const hasTemplate = (type: string): boolean =>
  isController(type) || isReplicationController(type) || isJob(type);
