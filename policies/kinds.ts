/**
 * Pulumi's name of a Kubernetes type, in any version of its group:
 * `kubernetes:{group}/{version}:{kind}`.
 */
function matcher(group: string, kinds: readonly string[]): (type: string) => boolean {
  const pattern = new RegExp(`^kubernetes:${group.replaceAll('.', '\\.')}/[^:/]+:(${kinds.join('|')})$`);
  return (type) => pattern.test(type);
}

export const isGateway = matcher('gateway.networking.k8s.io', ['Gateway']);
export const isRoute = matcher('gateway.networking.k8s.io', ['HTTPRoute']);
export const isNetworkPolicy = matcher('networking.k8s.io', ['NetworkPolicy']);
export const isConfigMap = matcher('core', ['ConfigMap']);
export const isRole = matcher('rbac.authorization.k8s.io', ['Role', 'ClusterRole']);
export const isSandboxTemplate = matcher('extensions.agents.x-k8s.io', ['SandboxTemplate']);
export const isSandbox = matcher('agents.x-k8s.io', ['Sandbox']);
export const isWarmPool = matcher('extensions.agents.x-k8s.io', ['SandboxWarmPool']);
export const isPod = matcher('core', ['Pod']);
export const isCronJob = matcher('batch', ['CronJob']);
/** Everything that makes pods from `spec.template`. */
const isController = matcher('apps', ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet']);
const isJob = matcher('batch', ['Job']);
export const hasTemplate = (type: string): boolean => isController(type) || isJob(type);
