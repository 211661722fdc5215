import { transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import { PortholeError } from '#base/errors.ts';
import type { Enforcement } from '#core/sandboxes/sandbox-provider.ts';
import { isTransient, KubernetesError } from '../client/kubernetes-error.ts';
import type { Collection, KubernetesObject } from '../client/kubernetes-object.ts';

/**
 * How a cluster enforces the limits of a pod, its volume claim and its labels. The last two depend
 * on the storage class and the network plugin.
 */
export const CLUSTER_ENFORCEMENT: Enforcement = {
  cpu: 'cgroup of the pod',
  memoryMb: 'cgroup of the pod',
  diskMb: 'volume claim, as far as its storage class holds volumes to their size',
  network: 'NetworkPolicy, where the network plugin enforces it',
  processes: 'limit of the node’s kubelet',
  systemCalls: 'seccomp profile of the container runtime',
};

/** A claim that will never have a Sandbox; `reason` is from the claim. */
export function unbound(id: string, reason: string): PortholeError {
  return new PortholeError('no_bound_sandbox', `Sandbox ${id} has no bound sandbox: ${reason}.`, {
    remedy: 'Correct what the claim reports, then create a new sandbox.',
  });
}

/** Another object has the name of a sandbox's object. */
export function notOurs(id: string, { plural }: Collection, { metadata }: KubernetesObject): PortholeError {
  return new PortholeError(
    'internal_error',
    `Sandbox ${id}: ${plural} ${metadata.name} in namespace ${metadata.namespace ?? ''} is not Porthole's.`,
    { remedy: 'Remove it, or use another namespace.' },
  );
}

/** Maps an error of the cluster to the error that a SandboxProvider throws. */
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
  if (status === 403 && !isTransient(error)) {
    return new PortholeError('internal_error', `Sandbox ${id}: the cluster does not allow it (${message}).`, {
      remedy:
        'Ask your administrator: a Role of the functions lacks this right, or a policy of the cluster refuses the object.',
      retryable: false,
      cause: error,
    });
  }
  return transportError(id, message, error);
}
