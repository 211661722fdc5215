import type { HttpClient } from '../http/http-client.ts';
import { filterQuery, type ListFilter, pages } from '../http/pages.ts';
import { PortholeError } from '../http/porthole-error.ts';
import type { Platform } from './platform.ts';
import type { Runs } from './runs.ts';
import type { CallOptions } from './files.ts';
import { Sandbox, type SandboxParts } from './sandbox.ts';
import { createBody, type CreateSandboxOptions, type OnExit, type SandboxInfo } from './sandbox-info.ts';

export interface HoldOptions extends CallOptions {
  /** What `close` does. @default keep */
  readonly onExit?: OnExit | undefined;
}

export interface ListSandboxesOptions extends HoldOptions, ListFilter {
  /** A sandbox must have all of these. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  readonly state?: 'creating' | 'running' | 'stopped' | undefined;
  readonly name?: string | undefined;
  readonly sessionKey?: string | undefined;
  /** `active`: the last used first. @default newest */
  readonly sort?: 'newest' | 'oldest' | 'active' | 'name' | undefined;
  /** Page size of requests. @default 100 */
  readonly pageSize?: number | undefined;
}

export interface DeleteByTagOptions extends CallOptions {
  /** Includes those created without `deleteWithThread`. */
  readonly force?: boolean | undefined;
}

/** A sandbox created ahead of use. */
export class Prewarmed implements AsyncDisposable {
  readonly #making: Promise<Sandbox>;
  #isTaken = false;

  constructor(making: Promise<Sandbox>) {
    this.#making = making;
    // `take` reports the failure.
    making.catch(() => undefined);
  }

  /** Resolves once it runs; the caller then owns it. */
  take(): Promise<Sandbox> {
    this.#isTaken = true;
    return this.#making;
  }

  /** Deletes it, unless it was taken. */
  async discard(): Promise<void> {
    if (this.#isTaken) return;
    this.#isTaken = true;
    const sandbox = await this.#making.catch(() => undefined);
    await sandbox?.delete();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.discard();
  }
}

/** The form of ids; a name may have it too, but rarely does. */
const LIKE_AN_ID = /^[a-z2-7]{26}$/;
const ID = /^[a-z2-7]{1,128}$/;

/** Your sandboxes. */
export class Sandboxes {
  readonly #http: HttpClient;
  readonly #platform: Platform;
  readonly #runs: Runs;

  constructor(http: HttpClient, platform: Platform, runs: Runs) {
    this.#http = http;
    this.#platform = platform;
    this.#runs = runs;
  }

  /**
   * Creates a sandbox; it runs when this resolves. If one with the `sessionKey` exists, returns
   * that.
   * @throws PortholeError `sandbox_exists` if the name is taken, `quota_exceeded`
   */
  async create(options: CreateSandboxOptions = {}): Promise<Sandbox> {
    const { id, sandbox_token: token } = await this.#http.json<{
      readonly id: string;
      readonly sandbox_token?: string;
    }>('POST v1/sandbox', {
      json: createBody(options),
      // A second call with the same key returns the sandbox of the first.
      isIdempotent: options.sessionKey !== undefined,
      timeoutMs: 0,
      signal: options.signal,
    });
    const sandbox = this.#sandbox({ id, token, onExit: options.onExit });
    if (options.ttlSeconds !== undefined) sandbox.keepAlive(options.ttlSeconds);
    return sandbox;
  }

  /** Starts to create a sandbox before it is needed; returns at once. */
  prewarm(options: CreateSandboxOptions = {}): Prewarmed {
    return new Prewarmed(this.create(options));
  }

  /**
   * An existing sandbox, by its id.
   * @throws PortholeError `sandbox_not_found`
   */
  async get(id: string, { onExit, signal }: HoldOptions = {}): Promise<Sandbox> {
    const info = await this.#http.json<SandboxInfo>(`GET v1/sandbox/${encodeURIComponent(id)}`, { signal });
    return this.#sandbox({ id: info.id, info, onExit });
  }

  /**
   * An existing sandbox, by its id or name.
   * @throws PortholeError `sandbox_not_found`
   */
  async find(idOrName: string, options: HoldOptions = {}): Promise<Sandbox> {
    if (idOrName === '') throw new TypeError('a sandbox has an id or a name, got an empty text.');
    const byId = async () => {
      try {
        return ID.test(idOrName) ? await this.get(idOrName, options) : undefined;
      } catch (error) {
        if (error instanceof PortholeError && error.status === 404) return undefined;
        throw error;
      }
    };
    const byName = async () => {
      // A text that cannot be a name is not looked up.
      if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/.test(idOrName)) return undefined;
      for await (const sandbox of this.list({ ...options, name: idOrName })) return sandbox;
      return undefined;
    };
    const ways = LIKE_AN_ID.test(idOrName) ? [byId, byName] : [byName, byId];
    const found = (await ways[0]?.()) ?? (await ways[1]?.());
    if (found !== undefined) return found;
    throw new PortholeError(
      `There is no sandbox with the id or name ${JSON.stringify(idOrName.slice(0, 130))}: list yours to see which there are.`,
      { status: 404, code: 'sandbox_not_found', remedy: 'List yours to see which there are.' },
    );
  }

  /** Matching sandboxes; pages are fetched on demand. */
  async *list(options: ListSandboxesOptions = {}): AsyncGenerator<Sandbox, void> {
    const { tags = {}, state, name, sessionKey, sort, pageSize, onExit, signal } = options;
    const [first, ...others] = Object.entries(tags);
    const query = {
      ...filterQuery(options),
      limit: pageSize,
      sort,
      state,
      name,
      session_key: sessionKey,
      tag: first === undefined ? undefined : first.join(':'),
    };
    for await (const info of pages<SandboxInfo>(this.#http, 'v1/sandbox', 'sandboxes', query, signal)) {
      // The API filters by one tag.
      if (others.every(([key, value]) => info.tags[key] === value)) {
        yield this.#sandbox({ id: info.id, info, onExit });
      }
    }
  }

  /**
   * A handle by id, without checking that the sandbox exists. The first operation creates a missing
   * one: an id is only a name.
   */
  at(id: string, { onExit }: HoldOptions = {}): Sandbox {
    return this.#sandbox({ id, onExit });
  }

  /**
   * Deletes all your sandboxes with the tag; resolves to their ids.
   * @throws PortholeError `sandboxes_kept` if one was created without `deleteWithThread` and
   * `force` is not set: then none is deleted
   */
  deleteByTag(
    key: string,
    value: string,
    { force, signal }: DeleteByTagOptions = {},
  ): Promise<readonly string[]> {
    const query = { tag: `${key}:${value}`, force: force === true ? true : undefined };
    return this.#http.list('ids', 'DELETE v1/sandbox', { query, signal });
  }

  #sandbox(parts: Omit<SandboxParts, 'http' | 'platform' | 'runs'>): Sandbox {
    return new Sandbox({ http: this.#http, platform: this.#platform, runs: this.#runs, ...parts });
  }
}
