import type { Enforcement } from '#core/ports/sandbox-provider.ts';

/** What a cluster does with what a pod, its volume claim and its labels say. Whether the last two come true is up to its storage class and its network plugin. */
export const CLUSTER_ENFORCEMENT: Enforcement = {
  cpu: 'cgroup of the pod',
  memoryMb: 'cgroup of the pod',
  diskMb: 'volume claim, as far as its storage class holds volumes to their size',
  network: 'NetworkPolicy, where the network plugin enforces it',
  processes: 'limit of the node’s kubelet',
  systemCalls: 'seccomp profile of the container runtime',
};
