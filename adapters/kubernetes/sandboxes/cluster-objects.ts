import { setTimeout as pause } from 'node:timers/promises';
import { isSandboxId, sandboxNotRunning } from '#adapters/sandboxes/sandbox-errors.ts';
import { retry } from '#base/retry.ts';
import { ANNOTATIONS, sandboxObjectName } from '#constructs/names.ts';
import { type Repetition, retryDelay } from '../client/exchange.ts';
import type { KubernetesClient } from '../client/kubernetes-client.ts';
import { absent, errorFromAnswer, isReason, KubernetesError } from '../client/kubernetes-error.ts';
import type { Collection, KubernetesObject, ObjectMeta } from '../client/kubernetes-object.ts';
import type { ClusterStreams } from './cluster-streams.ts';

interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: T;
}

/** The API server ends a watch after this long, in seconds. */
const WATCH_SECONDS = 240;

/** Longest event: etcd takes objects of 1.5 MiB. */
const MAX_LINE = 4 * 1024 * 1024;

/**
 * Watches one object from the given version; without one, starts with the current object if it
 * exists. Ends when the API server ends the watch.
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

export interface Watching {
  readonly client: KubernetesClient;
  readonly streams: ClusterStreams;
}

/**
 * Delay before a failed watch is restarted, in milliseconds: doubles with every consecutive
 * failure.
 */
const AGAIN_MS = { first: 250, longest: 4_000 };

export function find<T extends KubernetesObject>(
  client: KubernetesClient,
  from: Collection,
  name: string,
  signal?: AbortSignal,
): Promise<T | undefined> {
  return client.get<T>(from, name, signal).catch(absent);
}

/** The object of a sandbox; undefined if it does not exist, or another object has its name. */
export async function findOurs<T extends KubernetesObject>(
  client: KubernetesClient,
  from: Collection,
  id: string,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  const found = isSandboxId(id) ? await find<T>(client, from, sandboxObjectName(id), signal) : undefined;
  return found !== undefined && sandboxIdOf(found.metadata) === id ? found : undefined;
}

/**
 * Watches until `decide` returns a value for the object or its absence; an error from `decide` ends
 * the wait. A broken or expired watch is restarted: otherwise only the signal, or a 401 or 403,
 * ends the wait.
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

/**
 * Retries a create with a lost response: AlreadyExists shows that it took effect. The client
 * already retries conflicts.
 */
const REPEAT: Repetition = { inDoubt: true, conflict: false };

/** Creates an object; undefined if one with its name already exists. */
export async function makeObject(
  client: KubernetesClient,
  into: Collection,
  manifest: object,
  signal: AbortSignal | undefined,
): Promise<KubernetesObject | undefined> {
  const delay = (error: unknown, tries: number) =>
    error instanceof KubernetesError && error.inDoubt ? retryDelay(error, tries, REPEAT) : undefined;
  try {
    return await retry(() => client.create(into, manifest, signal), { delay, signal });
  } catch (error) {
    if (isReason(error, 'AlreadyExists')) return undefined;
    throw error;
  }
}

/** Whether a timeout, not the caller, ended a wait. */
export function isTimeout({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof DOMException && reason.name === 'TimeoutError';
}

/**
 * Waits until `evaluate` returns a value. Until then it returns a reason, or undefined for the last
 * one.
 * @throws PortholeError `sandbox_not_running` with the reason on a timeout
 */
export async function awaitSettled<T extends KubernetesObject, R>(
  watching: Watching,
  id: string,
  awaited: { readonly from: Collection; readonly name: string; readonly reason: string },
  until: AbortSignal,
  evaluate: (object: T | undefined) => { readonly settled: R } | { readonly reason: string } | undefined,
): Promise<R> {
  let { reason } = awaited;
  const decide = (object: T | undefined) => {
    const evaluated = evaluate(object);
    if (evaluated !== undefined && 'settled' in evaluated) return evaluated;
    reason = evaluated?.reason ?? reason;
    return undefined;
  };
  try {
    return (await awaitObject(watching, awaited.from, awaited.name, decide, until)).settled;
  } catch (error) {
    throw isTimeout(until) ? sandboxNotRunning(id, reason, error) : error;
  }
}

/**
 * The manifest with further annotations and the sandbox's id: the name may contain only a hash of
 * it.
 */
export function annotated(manifest: object, id: string, more: Readonly<Record<string, string>> = {}): object {
  const { metadata, ...rest } = manifest as { metadata: { annotations?: Readonly<Record<string, string>> } };
  const annotations = { ...metadata.annotations, ...more, [ANNOTATIONS.sandboxId]: id };
  return { ...rest, metadata: { ...metadata, annotations } };
}

/** The id of the sandbox that an object belongs to; undefined where the object is not ours. */
export function sandboxIdOf({ name, annotations, labels }: ObjectMeta): string | undefined {
  const id = annotations?.[ANNOTATIONS.sandboxId];
  if (id === undefined || !isSandboxId(id) || sandboxObjectName(id) !== name) return undefined;
  return labels?.['app.kubernetes.io/managed-by'] === 'porthole' ? id : undefined;
}
