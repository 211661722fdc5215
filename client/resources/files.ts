import type { FileEntry, FileList as FileListing, TextMatches } from '../api.ts';
import { fileForm } from '../http/file-form.ts';
import type { HttpClient } from '../http/http-client.ts';
import { parseObject } from '../http/parse-object.ts';
import { PortholeError } from '../http/porthole-error.ts';
import { wholeIfSmall } from '../streams/byte-streams.ts';
import { decodeText } from '../streams/decode-text.ts';
import { readEvents } from '../streams/read-events.ts';

/** Bytes of the body of a `PUT`: the API's limit. Larger files are sent as a form. */
const MAX_PUT_BYTES = 33_554_432;
/** Bytes of a stream that are held, so that a small file can be sent again. */
const MAX_HELD_BYTES = 1_048_576;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Content to write: a stream is sent as it arrives, if `fetch` supports that. */
export type FileContent = string | Uint8Array | Blob | ReadableStream<Uint8Array>;

export type { FileEntry, FileList as FileListing, TextMatches } from '../api.ts';

export interface ListFilesOptions extends CallOptions {
  /** Levels of folders to list, 1 to 16. @default 1 */
  readonly depth?: number | undefined;
  /** Names of folders to leave out, at any depth. @default none */
  readonly skip?: readonly string[] | undefined;
}

export interface SearchFilesOptions extends CallOptions {
  /** Folder to search. @default /workspace */
  readonly path?: string | undefined;
  /** Names of folders to leave out. @default node_modules, .git, .venv and __pycache__ */
  readonly skip?: readonly string[] | undefined;
}

/** A line of a file that contains a text. */
export type TextMatch = TextMatches['matches'][number];

export interface DeleteOptions extends CallOptions {
  /** Whether a folder is deleted with its contents. @default false */
  readonly recursive?: boolean | undefined;
}

export interface MoveOptions extends CallOptions {
  /** Whether an existing file is replaced. @default false */
  readonly overwrite?: boolean | undefined;
}

export interface UploadOptions extends CallOptions {
  /** Base folder of the names. @default /workspace */
  readonly to?: string | undefined;
}

export interface DownloadOptions extends CallOptions {
  /** @default tar */
  readonly format?: 'tar' | 'zip' | undefined;
}

export interface WatchOptions extends CallOptions {
  /** Whether subfolders are watched. @default true */
  readonly recursive?: boolean | undefined;
}

/**
 * A change in a folder. `ready`: the watch has started; `limited`: not all subfolders can be
 * watched; `overflow`: changes were lost, so list the folder again.
 */
export interface FileChange {
  readonly type: 'ready' | 'changed' | 'deleted' | 'limited' | 'overflow';
  /** Absolute. */
  readonly path: string;
  /** With `changed`: the current metadata. */
  readonly file?: Pick<FileEntry, 'type' | 'size' | 'mode'> & { readonly mtime: number };
}

/** The files of a sandbox. Paths are absolute, or relative to /workspace. */
export class Files {
  readonly #http: HttpClient;
  readonly #path: string;

  constructor(http: HttpClient, sandboxPath: string) {
    this.#http = http;
    this.#path = sandboxPath;
  }

  /** The content of a file as a stream. */
  stream(path: string, { signal }: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return this.#body(`GET ${this.#of(path)}`, { signal });
  }

  /** @throws PortholeError `workspace_read_not_found` */
  async bytes(path: string, options?: CallOptions): Promise<Uint8Array> {
    return new Uint8Array(
      await whole(new Response(await this.stream(path, options)).arrayBuffer(), path, options?.signal),
    );
  }

  /** As UTF-8, with its byte order mark. */
  async text(path: string, options?: CallOptions): Promise<string> {
    return decodeText(await this.bytes(path, options));
  }

  /** Atomic; creates missing folders. */
  async write(path: string, content: FileContent, { signal }: CallOptions = {}): Promise<void> {
    const address = this.#of(path);
    const small = content instanceof ReadableStream ? await wholeIfSmall(content, MAX_HELD_BYTES) : content;
    const large = small instanceof ReadableStream ? small : largeBlob(small);
    if (large === undefined) {
      await this.#http.done(`PUT ${address}`, { content: small, timeoutMs: 0, signal });
      return;
    }
    const [folder, name] = folderAndName(path);
    const { contentType, body } = fileForm(name, large);
    await this.#http.done(`POST ${this.#path}/files`, {
      query: { path: folder },
      content: body,
      headers: { 'content-type': contentType },
      isIdempotent: true,
      timeoutMs: 0,
      signal,
    });
  }

  /**
   * Deletes a file, a link itself, or a folder; a nonempty folder needs `recursive`.
   * @throws PortholeError `workspace_read_not_found`
   */
  async delete(path: string, { recursive, signal }: DeleteOptions = {}): Promise<void> {
    await this.#http.done(`DELETE ${this.#of(path)}`, {
      query: { recursive: recursive === true ? 'true' : undefined },
      signal,
    });
  }

  /**
   * Moves or renames a file or a folder. @throws PortholeError `file_exists`,
   * `workspace_read_not_found`
   */
  async move(from: string, to: string, { overwrite, signal }: MoveOptions = {}): Promise<void> {
    await this.#http.done(`POST ${this.#path}/move`, { json: { from, to, overwrite }, signal });
  }

  /**
   * Changes of a folder as they happen. Ends with the folder, and after an hour; throws if the
   * connection is lost: then list the folder again.
   */
  async *watch(
    path = '/workspace',
    { recursive, signal }: WatchOptions = {},
  ): AsyncGenerator<FileChange, void> {
    const response = await this.#http.send(`GET ${this.#path}/watch`, {
      query: { path, recursive },
      headers: { accept: 'text/event-stream' },
      signal,
    });
    for await (const { data } of readEvents(response, { signal })) {
      yield parseObject(data) as unknown as FileChange;
    }
  }

  /** The entries of a folder. */
  list(path = '/workspace', { depth, skip, signal }: ListFilesOptions = {}): Promise<FileListing> {
    const query = { path, depth, skip: skip?.join(',') };
    return this.#http.json<FileListing>(`GET ${this.#path}/files`, { query, signal });
  }

  /** Lines of text files that contain a text, in upper or lower case; at most 500. */
  search(text: string, { path, skip, signal }: SearchFilesOptions = {}): Promise<TextMatches> {
    const query = { text, path, skip: skip?.join(',') };
    return this.#http.json<TextMatches>(`GET ${this.#path}/search`, { query, signal });
  }

  /** Makes a folder, and the missing folders above it. One that exists stays as it is. */
  async makeFolder(path: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#http.done(`POST ${this.#path}/folder`, { json: { path }, isIdempotent: true, signal });
  }

  /**
   * Writes up to 1,000 files of any size, all or none; `files` maps names, which may include
   * folders, to contents.
   */
  async upload(
    files: Readonly<Record<string, string | Uint8Array | Blob>>,
    { to, signal }: UploadOptions = {},
  ): Promise<void> {
    const form = new FormData();
    for (const [name, content] of Object.entries(files)) {
      form.append('files', content instanceof Blob ? content : new Blob([content]), name);
    }
    await this.#http.done(`POST ${this.#path}/files`, {
      query: { path: to },
      content: form,
      // Writing the same again changes nothing.
      isIdempotent: true,
      timeoutMs: 0,
      signal,
    });
  }

  /** A folder as an archive; its members are named `./…`. */
  download(
    path = '/workspace',
    { format, signal }: DownloadOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return this.#body(`GET ${this.#path}/archive`, { query: { path, format }, signal });
  }

  /** /workspace as a plain tar. `excludes`: paths below it to leave out. */
  async persist({
    excludes = [],
    signal,
  }: CallOptions & { readonly excludes?: readonly string[] } = {}): Promise<ReadableStream<Uint8Array>> {
    if (excludes.some((path) => path.includes(',')))
      throw new TypeError('a path in excludes must have no comma.');
    const query = { excludes: excludes.length === 0 ? undefined : excludes.join(',') };
    return this.#body(`POST ${this.#path}/persist`, { query, isIdempotent: true, signal });
  }

  /**
   * Unpacks a plain tar over /workspace: its files replace existing ones, the rest stays.
   */
  async hydrate(archive: FileContent, { signal }: CallOptions = {}): Promise<void> {
    await this.#http.done(`POST ${this.#path}/hydrate`, {
      content: archive,
      // Unpacking it again changes nothing.
      isIdempotent: true,
      timeoutMs: 0,
      signal,
    });
  }

  #of(path: string): string {
    return `${this.#path}/file/${encodePath(path)}`;
  }

  async #body(...call: Parameters<HttpClient['send']>): Promise<ReadableStream<Uint8Array>> {
    return (await this.#http.send(...call)).body ?? new Blob([]).stream();
  }
}

/** The content as a blob, which is read as it is sent, if it is too large for a `PUT`. */
function largeBlob(content: string | Uint8Array | Blob): Blob | undefined {
  // A unit of a string has at most three bytes in UTF-8.
  const size = typeof content === 'string' ? 3 * content.length : sizeOf(content);
  if (size <= MAX_PUT_BYTES) return undefined;
  const blob = content instanceof Blob ? content : new Blob([content]);
  return blob.size > MAX_PUT_BYTES ? blob : undefined;
}

function sizeOf(content: Uint8Array | Blob): number {
  return content instanceof Blob ? content.size : content.byteLength;
}

/** The absolute folder of a file, and its name in it. */
function folderAndName(path: string): readonly [folder: string, name: string] {
  const parts = path.split('/').filter((part) => part !== '');
  const name = parts.pop() ?? '';
  return [`/${[...(path.startsWith('/') ? [] : ['workspace']), ...parts].join('/')}`, name];
}

async function whole<T>(reading: Promise<T>, path: string, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    signal?.throwIfAborted();
    const message = `The connection was lost while ${JSON.stringify(path)} was read: read it again.`;
    throw new PortholeError(message, { status: 0, code: 'unreachable', cause });
  }
}

/**
 * A path of a sandbox in the form of the API's URLs: absolute, without its leading slash, each
 * segment percent-encoded. Relative paths are below /workspace.
 * @throws TypeError for a path that a URL cannot carry: `.` and `..` are resolved on the way
 */
export function encodePath(path: string): string {
  const absolute = path.startsWith('/') ? path : `/workspace/${path}`;
  const parts = absolute.split('/').filter((part) => part !== '');
  if (parts.length === 0 || parts.some((part) => part === '.' || part === '..')) {
    throw new TypeError(
      `path must name a file without "." and ".." parts, got ${JSON.stringify(path.slice(0, 200))}.`,
    );
  }
  return parts.map((part) => encodeURIComponent(part)).join('/');
}
