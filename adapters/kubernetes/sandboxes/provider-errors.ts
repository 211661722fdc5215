import { PortholeError } from '#core/errors.ts';
import { KubernetesError } from '../client/kubernetes-error.ts';
import { transportError } from './exec/transport-error.ts';

export function sandboxNotFound(id: string): PortholeError {
  return new PortholeError(
    'sandbox_not_found',
    `Sandbox ${id.slice(0, 200)}: there is none. List the sandboxes, or create one.`,
  );
}

export function sandboxNotRunning(id: string, reason: string, cause?: unknown): PortholeError {
  return new PortholeError('sandbox_not_running', `Sandbox ${id} does not run: ${reason}.`, { cause });
}

/** What went wrong in a cluster, as callers of a provider meet it. */
export function portError(id: string, error: unknown): unknown {
  if (!(error instanceof KubernetesError)) return error;
  const { status, message } = error;
  if (status === 403 && message.includes('exceeded quota')) {
    return new PortholeError(
      'service_unavailable',
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
