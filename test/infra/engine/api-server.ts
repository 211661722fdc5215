import { isDeepStrictEqual } from 'node:util';
import { Agent, request } from 'undici';

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly ManagedFields[];
  };
  readonly [field: string]: unknown;
}

/** An entry of managedFields, as server-side apply records it. */
export interface ManagedFields {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource?: string;
  readonly fieldsV1: Readonly<Record<string, unknown>>;
}

export interface ApplyOptions {
  readonly fieldManager: string;
  readonly force: boolean;
  readonly dryRun: boolean;
}

export type ObjectKey = Pick<KubernetesObject, 'apiVersion' | 'kind'> & {
  readonly name: string;
  readonly namespace?: string | undefined;
};

/** An error response of an API server. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(`${status}: ${message}`);
    this.name = 'ApiError';
    this.status = status;
  }
}

interface Kubeconfig {
  readonly clusters: readonly [
    { readonly cluster: { readonly server: string; readonly 'certificate-authority-data'?: string } },
  ];
  readonly users: readonly [
    {
      readonly user: {
        readonly token?: string;
        readonly 'client-certificate-data'?: string;
        readonly 'client-key-data'?: string;
      };
    },
  ];
}

/** Longest wait for a condition, or for the deletion of an object. */
const PATIENCE_MS = 180_000;

/** The few requests needed to apply a stack. */
export class ApiServer {
  readonly #server: string;
  readonly #agent: Agent;
  readonly #headers: Record<string, string>;
  readonly #kinds = new Map<string, Promise<Map<string, { plural: string; namespaced: boolean }>>>();

  /** @param kubeconfig JSON, as `kubectl config view --raw --minify --output=json` prints it */
  constructor(kubeconfig: string) {
    const { clusters, users } = JSON.parse(kubeconfig) as Kubeconfig;
    const { cluster } = clusters[0];
    const { user } = users[0];
    const bytes = (data: string | undefined) =>
      data === undefined ? undefined : Buffer.from(data, 'base64');
    this.#server = cluster.server;
    this.#headers = user.token === undefined ? {} : { authorization: `Bearer ${user.token}` };
    this.#agent = new Agent({
      connect: {
        ...definedOnly({
          ca: bytes(cluster['certificate-authority-data']),
          cert: bytes(user['client-certificate-data']),
          key: bytes(user['client-key-data']),
        }),
      },
    });
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** @throws ApiError 409 if the object exists */
  async create(
    object: KubernetesObject,
    { fieldManager, dryRun }: Omit<ApplyOptions, 'force'>,
  ): Promise<KubernetesObject> {
    const path = await this.#path(keyOf(object));
    const collection = path.slice(0, path.lastIndexOf('/'));
    const query = `fieldManager=${fieldManager}${dryRun ? '&dryRun=All' : ''}`;
    return (await this.#json('POST', `${collection}?${query}`, object)) as KubernetesObject;
  }

  /**
   * Server-side apply.
   * @throws ApiError 409 if another manager owns a field and `force` is not set
   */
  async apply(
    object: KubernetesObject,
    { fieldManager, force, dryRun }: ApplyOptions,
  ): Promise<KubernetesObject> {
    const query = `fieldManager=${fieldManager}&force=${force}${dryRun ? '&dryRun=All' : ''}`;
    const path = `${await this.#path(keyOf(object))}?${query}`;
    return (await this.#json('PATCH', path, object)) as KubernetesObject;
  }

  /** Replaces the object's managedFields. */
  async setManagedFields(
    object: KubernetesObject,
    managedFields: readonly ManagedFields[],
  ): Promise<KubernetesObject> {
    const patch = [{ op: 'replace', path: '/metadata/managedFields', value: managedFields }];
    const path = await this.#path(keyOf(object));
    return (await this.#json('PATCH', path, patch, 'application/json-patch+json')) as KubernetesObject;
  }

  async read(key: ObjectKey): Promise<KubernetesObject | undefined> {
    try {
      return (await this.#json('GET', await this.#path(key))) as KubernetesObject;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Deletes the object and its dependents, and waits until it is gone. */
  async remove(key: ObjectKey): Promise<void> {
    const path = await this.#path(key);
    const before = await this.read(key);
    if (before === undefined) return;
    try {
      await this.#json('DELETE', path, {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        propagationPolicy: 'Foreground',
      });
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
    }
    await this.#until(key, before, ({ type }) => type === 'DELETED', 'be gone');
  }

  /** Resolves once the object's condition is True. */
  async untilCondition(object: KubernetesObject, condition: string): Promise<KubernetesObject> {
    return this.#until(
      keyOf(object),
      object,
      ({ object: seen }) => isTrue(seen, condition),
      `have the condition ${condition}`,
    );
  }

  /** Resolves once the status of a ResourceQuota has the limits of its spec. */
  async untilCounted(quota: KubernetesObject): Promise<KubernetesObject> {
    const limits = ({ spec }: KubernetesObject) => (spec as { readonly hard: unknown }).hard;
    return this.#until(
      keyOf(quota),
      quota,
      ({ object: seen }) =>
        isDeepStrictEqual((seen['status'] as { readonly hard?: unknown } | undefined)?.hard, limits(quota)),
      'be counted',
    );
  }

  async #until(
    key: ObjectKey,
    since: KubernetesObject,
    holds: (event: { type: string; object: KubernetesObject }) => boolean,
    what: string,
  ): Promise<KubernetesObject> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    try {
      // After many other writes the API server has forgotten a version, and ends its watch.
      for (let seen: KubernetesObject | undefined = since; ; seen = await this.read(key)) {
        const now = { type: seen === undefined ? 'DELETED' : 'SINCE', object: seen ?? since };
        if (holds(now)) return now.object;
        if (seen === undefined) throw new Error(`${key.kind} ${key.name} is gone: it did not ${what}`);
        for await (const event of this.#watch(key, seen, signal)) if (holds(event)) return event.object;
      }
    } catch (error) {
      if (!(error instanceof Error && error.name === 'TimeoutError')) throw error;
    }
    throw new Error(`${key.kind} ${key.name} did not ${what} within ${PATIENCE_MS / 1000} s`);
  }

  /** The events of an object since this version of it, until the API server ends the watch. */
  async *#watch(
    key: ObjectKey,
    since: KubernetesObject,
    signal: AbortSignal,
  ): AsyncGenerator<{ type: string; object: KubernetesObject }, void> {
    const path = await this.#path(key);
    const query = new URLSearchParams({
      watch: '1',
      fieldSelector: `metadata.name=${key.name}`,
      resourceVersion: since.metadata.resourceVersion ?? '',
    });
    const { statusCode, body } = await request(
      `${this.#server}${path.slice(0, path.lastIndexOf('/'))}?${query.toString()}`,
      { dispatcher: this.#agent, headers: this.#headers, signal },
    );
    if (statusCode === 410) {
      await body.dump();
      return;
    }
    if (statusCode !== 200) throw new ApiError(statusCode, await body.text());
    for await (const line of lines(body))
      yield JSON.parse(line) as { type: string; object: KubernetesObject };
  }

  async #json(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    type = method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/json',
  ): Promise<unknown> {
    const response = await request(`${this.#server}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: { ...this.#headers, 'content-type': type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.body.json()) as { message?: string };
    if (response.statusCode >= 300) {
      throw new ApiError(response.statusCode, answer.message ?? JSON.stringify(answer));
    }
    return answer;
  }

  async #path({ apiVersion, kind, name, namespace }: ObjectKey): Promise<string> {
    const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    let kinds = this.#kinds.get(base);
    if (kinds === undefined) {
      kinds = this.#discover(base);
      this.#kinds.set(base, kinds);
    }
    const found = (await kinds).get(kind);
    if (found === undefined) throw new Error(`the API server has no ${kind} in ${apiVersion}`);
    const within = found.namespaced ? `/namespaces/${namespace ?? 'default'}` : '';
    return `${base}${within}/${found.plural}/${name}`;
  }

  async #discover(base: string): Promise<Map<string, { plural: string; namespaced: boolean }>> {
    const { resources } = (await this.#json('GET', base)) as {
      resources: readonly { name: string; kind: string; namespaced: boolean }[];
    };
    return new Map(
      resources
        .filter(({ name }) => !name.includes('/'))
        .map(({ name, kind, namespaced }) => [kind, { plural: name, namespaced }]),
    );
  }
}

export function keyOf({ apiVersion, kind, metadata }: KubernetesObject): ObjectKey {
  return { apiVersion, kind, name: metadata.name, namespace: metadata.namespace };
}

function isTrue(object: KubernetesObject, condition: string): boolean {
  const { conditions = [] } = (object['status'] ?? {}) as {
    conditions?: readonly { type: string; status: string }[];
  };
  return conditions.some(({ type, status }) => type === condition && status === 'True');
}

function definedOnly<T extends object>(record: T) {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}

async function* lines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true });
    const whole = rest.split('\n');
    rest = whole.pop() ?? '';
    yield* whole;
  }
}
