/** The subset of Porthole's HTTP API for the demo. It is plain HTTP: any language can do this. */
export interface PortholeApi {
  /** Its URL, e.g. `http://127.0.0.1:8787`. */
  readonly url: string;
  /**
   * One JSON call.
   * @throws ApiError for any status but success
   */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** Runs a command in a sandbox to its end. `cwd` is relative to /workspace. */
  exec(sandbox: string, argv: readonly string[], cwd?: string): Promise<Finished>;
  /** Writes a file below /workspace, at most 32 MiB; creates missing folders. */
  write(sandbox: string, path: string, content: string | Uint8Array): Promise<void>;
  /** Reads a file below /workspace. */
  read(sandbox: string, path: string): Promise<string>;
}

export interface Finished {
  readonly exitCode: number;
  /** Both streams, in order of arrival. */
  readonly output: string;
}

export class ApiError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(request: string, status: number, { error, code }: { error?: string; code?: string }) {
    super(`${request} answered ${status}: ${error ?? 'no reason given'}`);
    this.name = 'ApiError';
    this.status = status;
    this.code = code ?? '';
  }
}

/** The subset of `fetch` for the API. */
export type Fetch = (
  url: string,
  init: {
    readonly method: string;
    readonly headers: Record<string, string>;
    readonly body: Blob | null;
    readonly signal: AbortSignal | null;
  },
) => Promise<Pick<Response, 'ok' | 'status' | 'json' | 'text'>>;

/**
 * @param key sent as a bearer token, if Porthole has one configured (`SANDBOX_API_KEY`)
 * @param fetcher a custom `fetch` for Porthole; the built-in one by default
 */
export function connect(
  url: string,
  key: string | undefined,
  signal?: AbortSignal,
  fetcher: Fetch = fetch,
): PortholeApi {
  const send = async (method: string, path: string, type?: string, body?: string | Uint8Array) => {
    const headers: Record<string, string> = {};
    if (key !== undefined) headers['authorization'] = `Bearer ${key}`;
    if (type !== undefined) headers['content-type'] = type;
    const response = await fetcher(url + path, {
      method,
      headers,
      body: body === undefined ? null : new Blob([body]),
      signal: signal ?? null,
    });
    if (response.ok) return response;
    // Every error of Porthole is `{"error": "what, which value, the remedy", "code":
    // "a_stable_name"}`.
    const problem = await response.json().catch(() => ({}));
    throw new ApiError(`${method} ${path}`, response.status, problem as { error?: string; code?: string });
  };
  const file = (sandbox: string, path: string) =>
    `/v1/sandbox/${sandbox}/file/workspace/${path.split('/').map(encodeURIComponent).join('/')}`;
  return {
    url,
    async call<T>(method: string, path: string, body?: unknown) {
      const response =
        body === undefined
          ? await send(method, path)
          : await send(method, path, 'application/json', JSON.stringify(body));
      return (response.status === 204 ? undefined : await response.json()) as T;
    },
    async exec(sandbox, argv, cwd) {
      const body = JSON.stringify({ argv, cwd });
      const response = await send('POST', `/v1/sandbox/${sandbox}/exec`, 'application/json', body);
      return finished(await response.text());
    },
    async write(sandbox, path, content) {
      await send('PUT', file(sandbox, path), 'application/octet-stream', content);
    },
    async read(sandbox, path) {
      return (await send('GET', file(sandbox, path))).text();
    },
  };
}

/**
 * Parses the events of a command: `stdout` and `stderr` in base64, then one `exit` or one `error`.
 */
function finished(events: string): Finished {
  const output: Buffer[] = [];
  for (const event of events.split('\n\n')) {
    const [, name, data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
    if (name === 'stdout' || name === 'stderr') output.push(Buffer.from(data, 'base64'));
    if (name === 'error') throw new Error((JSON.parse(data) as { error: string }).error);
    if (name === 'exit') {
      const { exit_code } = JSON.parse(data) as { exit_code: number };
      return { exitCode: exit_code, output: Buffer.concat(output).toString() };
    }
  }
  throw new Error('The connection ended before the command did.');
}
