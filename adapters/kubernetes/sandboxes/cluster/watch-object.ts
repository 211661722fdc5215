import type { Collection } from '../../client/collection.ts';
import { errorFromAnswer } from '../../client/kubernetes-error.ts';
import type { KubernetesObject } from '../../client/kubernetes-object.ts';
import type { ClusterStreams } from './cluster-streams.ts';

export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: T;
}

/** The API server ends a watch after this long, in seconds. */
const WATCH_SECONDS = 240;

/** Longest event: etcd takes objects of 1.5 MiB. */
const MAX_LINE = 4 * 1024 * 1024;

/**
 * What happens to one object after the given version; without one, first the object as it is, where there is one. Ends when the API server ends it.
 * @throws KubernetesError, `Expired` where the version is too old
 */
export async function* watchObject<T extends KubernetesObject>(
  streams: ClusterStreams,
  from: Collection,
  name: string,
  since: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  const query = new URLSearchParams({
    watch: 'true',
    fieldSelector: `metadata.name=${name}`,
    timeoutSeconds: String(WATCH_SECONDS),
    ...(since !== undefined && { resourceVersion: since }),
  });
  const what = `watch ${from.plural} ${name}`;
  const body = await streams.body({ path: `${from.path}?${query.toString()}`, what }, signal);
  body.setEncoding('utf8');
  let rest = '';
  for await (const piece of body) {
    const lines = `${rest}${String(piece)}`.split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE) throw new Error(`${what}: an event of more than ${MAX_LINE} characters`);
    for (const line of lines) {
      const event = JSON.parse(line) as { type: string; object: T & { code?: number } };
      if (event.type === 'ERROR') {
        throw errorFromAnswer(what, event.object.code ?? 500, undefined, JSON.stringify(event.object));
      }
      if (event.type !== 'BOOKMARK') yield event as WatchEvent<T>;
    }
  }
}
