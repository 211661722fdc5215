import type { Collection } from '../../client/collection.ts';
import type { KubernetesObject } from '../../client/kubernetes-object.ts';
import { transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import { awaitObject, type Watching } from './await-object.ts';

/** Whether it is a time limit that ended a wait, and not whoever asked for it. */
export function isTimeout({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof DOMException && reason.name === 'TimeoutError';
}

/** The caller's signal, and a limit of our own. */
export function limited(signal: AbortSignal | undefined, withinMs: number): AbortSignal {
  const limit = AbortSignal.timeout(withinMs);
  return signal === undefined ? limit : AbortSignal.any([signal, limit]);
}

/** Waits until an object has really gone; another that has taken its name counts as none. */
export async function awaitGone(
  watching: Watching,
  id: string,
  from: Collection,
  { name, uid }: { readonly name: string; readonly uid: string },
  until: AbortSignal,
): Promise<void> {
  const gone = (object: KubernetesObject | undefined) => (object?.metadata.uid === uid ? undefined : true);
  try {
    await awaitObject(watching, from, name, gone, until);
  } catch (error) {
    if (isTimeout(until)) throw transportError(id, `${from.plural} ${name} is still there`, error);
    throw error;
  }
}
