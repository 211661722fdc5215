import { transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import { PortholeError } from '#core/errors.ts';
import type { Enforcement } from '#core/sandboxes/sandbox-provider.ts';
import { KubernetesError } from '../client/kubernetes-error.ts';
import type { Collection, KubernetesObject } from '../client/kubernetes-object.ts';

/**
 * What a cluster does with what a pod, its volume claim and its labels say. Whether the last two
 * come true is up to its storage class and its network plugin.
 */
export const CLUSTER_ENFORCEMENT: Enforcement = {
  cpu: 'cgroup of the pod',
  memoryMb: 'cgroup of the pod',
  diskMb: 'volume claim, as far as its storage class holds volumes to their size',
  network: 'NetworkPolicy, where the network plugin enforces it',
  processes: 'limit of the node’s kubelet',
  systemCalls: 'seccomp profile of the container runtime',
};

/** A claim that will never have a Sandbox; `reason` is the claim's own. */
export function unbound(id: string, reason: string): PortholeError {
  return new PortholeError(
    'no_bound_sandbox',
    `Sandbox ${id} has no bound sandbox: ${reason}. Put right what the claim names, then make a new sandbox.`,
  );
}

/** Something else bears the name of a sandbox's object. */
export function notOurs(id: string, { plural }: Collection, { metadata }: KubernetesObject): PortholeError {
  return new PortholeError(
    'internal_error',
    `Sandbox ${id}: ${plural} ${metadata.name} in namespace ${metadata.namespace ?? ''} is not Porthole's. Remove it, or use another namespace.`,
  );
}

/** What went wrong in a cluster, as callers of a provider meet it. */
export function portError(id: string, error: unknown): unknown {
  if (!(error instanceof KubernetesError)) return error;
  const { status, message } = error;
  if (status === 403 && message.includes('exceeded quota')) {
    return new PortholeError(
      'capacity_exceeded',
      `Sandbox ${id}: the cluster has no room for it (${message}). Destroy a sandbox, or raise the quota.`,
      { cause: error },
    );
  }
  if (status === 422) {
    return new PortholeError('invalid_request', `Sandbox ${id}: the cluster refuses it (${message}).`, {
      cause: error,
    });
  }
  return transportError(id, message, error);
}
