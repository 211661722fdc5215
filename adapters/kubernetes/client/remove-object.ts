import { retry } from '#base/retry.ts';
import type { Collection, Call, KubernetesObject } from './kubernetes-object.ts';
import { absent, isReason, KubernetesError } from './kubernetes-error.ts';
import { MAX_TRIES } from './exchange.ts';

export interface DeleteOptions {
  /** Delete only the object with this uid. */
  readonly uid?: string | undefined;
  /** Delete only while this version is current. */
  readonly resourceVersion?: string | undefined;
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan' | undefined;
}

interface Calls {
  readonly send: (call: Call, signal: AbortSignal | undefined) => Promise<unknown>;
  readonly get: (from: Collection, name: string, signal?: AbortSignal) => Promise<KubernetesObject>;
}

/**
 * Deletes an object. True when this call removed it; false when it was already gone or a
 * precondition failed. A 409 is verified by a read: while the preconditions hold, the deletion is
 * retried.
 */
export async function removeObject(
  { send, get }: Calls,
  from: Collection,
  name: string,
  { uid, resourceVersion, propagation }: DeleteOptions,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const preconditions = {
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
  };
  const call: Call = {
    method: 'DELETE',
    path: `${from.path}/${name}`,
    what: `delete ${from.plural} ${name}`,
    repetition: { inDoubt: true, conflict: false },
    body: {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions,
      ...(propagation !== undefined && { propagationPolicy: propagation }),
    },
  };
  const remove = async (): Promise<boolean> => {
    try {
      await send(call, signal);
      return true;
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error;
      // 404 after a try with an unknown outcome: that try deleted it.
      if (error.status === 404) return error.inDoubt;
      if (error.status !== 409) throw error;
      const existing = await get(from, name, signal).catch(absent);
      if (existing === undefined) return error.inDoubt;
      const { metadata } = existing;
      if (uid !== undefined && uid !== metadata.uid) return false;
      if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) return false;
      throw error;
    }
  };
  const delay = (error: unknown, tries: number) =>
    isReason(error, 'Conflict') && tries < MAX_TRIES ? 0 : undefined;
  return retry(remove, { delay, signal });
}
