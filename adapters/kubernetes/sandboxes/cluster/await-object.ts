import { setTimeout as pause } from 'node:timers/promises';
import type { Collection } from '../../client/collection.ts';
import type { KubernetesClient } from '../../client/kubernetes-client.ts';
import { isReason, KubernetesError } from '../../client/kubernetes-error.ts';
import type { KubernetesObject } from '../../client/kubernetes-object.ts';
import type { ClusterStreams } from './cluster-streams.ts';
import { watchObject } from './watch-object.ts';

export interface Watching {
  readonly client: KubernetesClient;
  readonly streams: ClusterStreams;
}

/** Before a watch that has failed is taken up again, in milliseconds: doubles with every failure in a row. */
const AGAIN_MS = { first: 250, longest: 4_000 };

/** The object; undefined where there is none. */
export async function find<T extends KubernetesObject>(
  client: KubernetesClient,
  from: Collection,
  name: string,
  signal?: AbortSignal,
): Promise<T | undefined> {
  try {
    return await client.get<T>(from, name, signal);
  } catch (error) {
    if (isReason(error, 'NotFound')) return undefined;
    throw error;
  }
}

/**
 * Waits, by watch, until `decide` says something of the object or of its absence; what it throws ends the wait. A watch that breaks or expires is taken up again:
 * only the signal, or an API server that refuses, ends the wait otherwise.
 */
export async function awaitObject<T extends KubernetesObject, R>(
  { client, streams }: Watching,
  from: Collection,
  name: string,
  decide: (object: T | undefined) => R | undefined,
  signal: AbortSignal,
): Promise<R> {
  for (let failures = 0; ; ) {
    const object = await find<T>(client, from, name, signal);
    const decided = decide(object);
    if (decided !== undefined) return decided;
    const since = object?.metadata.resourceVersion;
    const ended = new AbortController();
    let refused: unknown;
    try {
      const events = watchObject<T>(streams, from, name, since, AbortSignal.any([signal, ended.signal]));
      for (;;) {
        const next = await events.next().catch((error: unknown) => {
          refused = error;
          return { done: true } as const;
        });
        if (next.done) break;
        failures = 0;
        const then = decide(next.value.type === 'DELETED' ? undefined : next.value.object);
        if (then !== undefined) return then;
      }
    } finally {
      ended.abort();
    }
    signal.throwIfAborted();
    if (refused instanceof KubernetesError && (refused.status === 401 || refused.status === 403))
      throw refused;
    if (refused === undefined) continue;
    failures += 1;
    const delay = againAfter(refused, failures);
    await pause(delay, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

function againAfter(refused: unknown, failures: number): number {
  const grown = Math.min(AGAIN_MS.first * 2 ** (failures - 1), AGAIN_MS.longest);
  const asked = refused instanceof KubernetesError ? refused.retryAfterMs : undefined;
  return Math.max(grown, asked ?? 0);
}
