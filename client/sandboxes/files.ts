import type { HttpClient } from '../http/http-client.ts';
import { PortholeError } from '../http/porthole-error.ts';
import { encodePath } from './workspace-path.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** What can be written: a stream goes as it comes, where `fetch` can send one. */
export type FileContent = string | Uint8Array | Blob | ReadableStream<Uint8Array>;

export interface FileEntry {
  readonly path: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly [field: string]: unknown;
}

export interface ListFilesOptions extends CallOptions {
  /** How many levels of folders are looked into. @default 1 */
  readonly depth?: number | undefined;
}

/** The files of a sandbox. Paths are absolute, or relative to /workspace. */
export class Files {
  readonly #http: HttpClient;
  readonly #path: string;

  constructor(http: HttpClient, sandboxPath: string) {
    this.#http = http;
    this.#path = sandboxPath;
  }

  /** A file as it comes. */
  async stream(path: string, { signal }: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const { body } = await this.#http.send({ path: `${this.#path}/file/${encodePath(path)}`, signal });
    return body ?? new Blob([]).stream();
  }

  /** @throws PortholeError `workspace_read_not_found` */
  async bytes(path: string, options?: CallOptions): Promise<Uint8Array> {
    return new Uint8Array(
      await whole(new Response(await this.stream(path, options)).arrayBuffer(), path, options?.signal),
    );
  }

  /** As UTF-8. */
  async text(path: string, options?: CallOptions): Promise<string> {
    return whole(new Response(await this.stream(path, options)).text(), path, options?.signal);
  }

  /** Whole or not at all; folders on the way are made. At most 32 MiB. */
  async write(path: string, content: FileContent, { signal }: CallOptions = {}): Promise<void> {
    await this.#http.done({
      method: 'PUT',
      path: `${this.#path}/file/${encodePath(path)}`,
      content,
      timeoutMs: 0,
      signal,
    });
  }

  /** What is in a folder. */
  async list(path = '/workspace', { depth, signal }: ListFilesOptions = {}): Promise<readonly FileEntry[]> {
    const answer = await this.#http.json<{ readonly files: readonly FileEntry[] }>({
      path: `${this.#path}/files`,
      query: { path, depth },
      signal,
    });
    return answer.files;
  }

  /** /workspace as a plain tar. `excludes`: paths below it to leave out. */
  async persist({
    excludes = [],
    signal,
  }: CallOptions & { readonly excludes?: readonly string[] } = {}): Promise<ReadableStream<Uint8Array>> {
    if (excludes.some((path) => path.includes(',')))
      throw new TypeError('a path in excludes must have no comma.');
    const { body } = await this.#http.send({
      method: 'POST',
      path: `${this.#path}/persist`,
      query: { excludes: excludes.length === 0 ? undefined : excludes.join(',') },
      isIdempotent: true,
      signal,
    });
    return body ?? new Blob([]).stream();
  }

  /** Unpacks a plain tar of at most 32 MiB over /workspace: what it has is replaced, the rest stays. */
  async hydrate(archive: FileContent, { signal }: CallOptions = {}): Promise<void> {
    await this.#http.done({
      method: 'POST',
      path: `${this.#path}/hydrate`,
      content: archive,
      // Unpacking it again changes nothing.
      isIdempotent: true,
      timeoutMs: 0,
      signal,
    });
  }
}

async function whole<T>(reading: Promise<T>, path: string, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    signal?.throwIfAborted();
    throw new PortholeError(
      `The connection was lost while ${JSON.stringify(path)} was read: read it again.`,
      {
        status: 0,
        code: 'unreachable',
        cause,
      },
    );
  }
}
