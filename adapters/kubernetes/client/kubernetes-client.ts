import { retry } from '#base/retry.ts';
import { type SpanStart, traced, traceHeaders, type WorkSpan } from '#core/telemetry/tracing.ts';
import type { Call, Collection, JsonPatchOperation, KubernetesObject } from './kubernetes-object.ts';
import type { ClusterAccess } from './cluster-access.ts';
import {
  openExchanges,
  gate,
  type Repetition,
  retryDelay,
  createServerTime,
  type ServerTime,
} from './exchange.ts';
import { ExchangeFailure, errorFromAnswer, errorFromFailure, KubernetesError } from './kubernetes-error.ts';
import { type DeleteOptions, removeObject } from './remove-object.ts';
import { listPages, type ListQuery } from './list-pages.ts';

export interface KubernetesClientOptions {
  readonly access: ClusterAccess;
  /** The local clock, compared with the server's. */
  readonly now?: () => Date;
  /** Longest wait for one answer, in milliseconds. */
  readonly tryTimeoutMs?: number;
  /** Longest time for a call with all its repetitions, in milliseconds. */
  readonly callTimeoutMs?: number;
  /** Maximum connections to the API server. */
  readonly connections?: number;
  /** Maximum concurrent deletions. */
  readonly deletes?: number;
}

export interface MergePatch {
  readonly metadata?: { readonly resourceVersion?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/**
 * The Kubernetes API calls that Porthole makes: one round trip each, JSON in and out, keep-alive
 * connections. A transient failure is retried at most four times, only where a retry is safe, and
 * never past the call's timeout. Every failure is a KubernetesError; an aborted signal rejects with
 * its own reason.
 */
export interface KubernetesClient {
  get<T extends KubernetesObject>(from: Collection, name: string, signal?: AbortSignal): Promise<T>;
  /** Page by page, each object once, even across an expired `continue` token. */
  list<T extends KubernetesObject>(
    from: Collection,
    query?: ListQuery,
    signal?: AbortSignal,
  ): AsyncGenerator<T, void, undefined>;
  /** Not retried when the outcome is unknown: the caller checks by name, uid and annotations. */
  create<T extends KubernetesObject>(into: Collection, object: object, signal?: AbortSignal): Promise<T>;
  /** Include a `test` operation, so that a retry is safe. */
  jsonPatch<T extends KubernetesObject>(
    into: Collection,
    name: string,
    operations: readonly JsonPatchOperation[],
    signal?: AbortSignal,
  ): Promise<T>;
  /** Applies `change`, with retries. A `resourceVersion` in it is a precondition. */
  mergePatch<T extends KubernetesObject>(
    into: Collection,
    name: string,
    change: MergePatch,
    signal?: AbortSignal,
  ): Promise<T>;
  /** True when this call removed it; false when it was already gone or a precondition failed. */
  delete(from: Collection, name: string, options?: DeleteOptions, signal?: AbortSignal): Promise<boolean>;
  readonly time: ServerTime;
  /** Closes the connections. */
  close(): void;
}

const JSON_TYPE = 'application/json';
/** For calls that only read, or that change an object under a `test`. */
const REPEAT: Repetition = { inDoubt: true, conflict: true };

/** Without the name of the object. */
function spanOf({ method, what }: Call): SpanStart<unknown> {
  const [, resource = ''] = what.split(' ');
  const attributes = { 'http.request.method': method, 'porthole.kubernetes.resource': resource };
  return { name: `${method} ${resource}`, kind: 'client', attributes };
}

export function createKubernetesClient(options: KubernetesClientOptions): KubernetesClient {
  const {
    access,
    now = () => new Date(),
    tryTimeoutMs = 10_000,
    callTimeoutMs = 30_000,
    connections = 32,
    deletes = 8,
  } = options;
  const time = createServerTime();
  const oneOfFew = gate(deletes);
  const server = openExchanges(access, connections);

  /** One try. Returns the JSON of the response or throws. */
  const tryOnce = async (
    call: Call,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    refreshToken: boolean,
    span: WorkSpan | undefined,
  ): Promise<unknown> => {
    const headers: Record<string, string> = {
      accept: call.accept ?? JSON_TYPE,
      ...(span !== undefined && traceHeaders()),
    };
    if (access.token !== undefined) headers['authorization'] = `Bearer ${await access.token(refreshToken)}`;
    if (call.body !== undefined) headers['content-type'] = call.type ?? JSON_TYPE;
    const sentAt = now().getTime();
    const answer = await server.exchange(
      {
        method: call.method,
        path: call.path,
        headers,
        body: call.body === undefined ? undefined : JSON.stringify(call.body),
        timeoutMs,
      },
      signal,
    );
    time.observe(answer.headers.date, sentAt, now().getTime());
    span?.set({ 'http.response.status_code': answer.status });
    if (answer.status < 400) return parse(answer.body);
    throw errorFromAnswer(call.what, answer.status, answer.headers['retry-after'], answer.body);
  };

  const send = async (call: Call, signal: AbortSignal | undefined): Promise<unknown> => {
    signal?.throwIfAborted();
    const endsAt = performance.now() + callTimeoutMs;
    let inDoubt = false;
    let refused = false;
    const work = async () => {
      try {
        const left = Math.max(0, endsAt - performance.now());
        return await traced(spanOf(call), (span) =>
          tryOnce(call, Math.min(tryTimeoutMs, left), signal, refused, span),
        );
      } catch (failure) {
        const error = failure instanceof KubernetesError ? failure : errorFromFailure(call.what, failure);
        inDoubt ||= error.inDoubt;
        throw withDoubt(error, inDoubt);
      }
    };
    const delay = (error: unknown, tries: number): number | undefined => {
      if (!(error instanceof KubernetesError)) return undefined;
      if (error.status !== 401 || refused || access.token === undefined) {
        return retryDelay(error, tries, call.repetition);
      }
      refused = true;
      return 0;
    };
    return retry(work, { delay, withinMs: callTimeoutMs, signal });
  };
  const parsed = async <T>(call: Call, signal: AbortSignal | undefined): Promise<T> =>
    (await send(call, signal)) as T;

  const get = <T extends KubernetesObject>(
    from: Collection,
    name: string,
    signal?: AbortSignal,
  ): Promise<T> =>
    parsed(
      { method: 'GET', path: `${from.path}/${name}`, what: `get ${from.plural} ${name}`, repetition: REPEAT },
      signal,
    );

  return {
    time,
    get,

    list: (from, query = {}, signal) => listPages((call) => parsed(call, signal), from, query),

    create: (into, object, signal) =>
      parsed(
        {
          method: 'POST',
          path: into.path,
          what: `create ${into.plural}`,
          repetition: { inDoubt: false, conflict: true },
          body: object,
        },
        signal,
      ),

    jsonPatch: (into, name, operations, signal) =>
      parsed(
        {
          method: 'PATCH',
          path: `${into.path}/${name}`,
          what: `patch ${into.plural} ${name}`,
          repetition: REPEAT,
          type: 'application/json-patch+json',
          body: operations,
        },
        signal,
      ),

    mergePatch: (into, name, change, signal) =>
      parsed(
        {
          method: 'PATCH',
          path: `${into.path}/${name}`,
          what: `patch ${into.plural} ${name}`,
          repetition: { inDoubt: true, conflict: change.metadata?.resourceVersion === undefined },
          type: 'application/merge-patch+json',
          body: change,
        },
        signal,
      ),

    delete: (from, name, options = {}, signal) =>
      oneOfFew(() => removeObject({ send, get }, from, name, options, signal)),

    close: () => server.close(),
  };
}

/** A proxy may answer in place of the API server, without JSON. */
function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new ExchangeFailure('what answered is no API server', true, error);
  }
}

/** The error of a call is in doubt if one of its tries was. */
function withDoubt(error: KubernetesError, inDoubt: boolean): KubernetesError {
  if (error.inDoubt || !inDoubt) return error;
  const { message, status, reason, retryAfterMs, continueAt, cause } = error;
  return new KubernetesError(message, { status, reason, inDoubt: true, retryAfterMs, continueAt, cause });
}
