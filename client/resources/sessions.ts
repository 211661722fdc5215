import type { HttpClient } from '../http/http-client.ts';
import type { CallOptions } from './files.ts';

export interface CreateSessionOptions extends CallOptions {
  /** `[a-zA-Z0-9._-]{1,128}`; generated if absent. */
  readonly id?: string | undefined;
  /** Within /workspace, the default. */
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/**
 * Working directories and environments that outlive a command. Commands and terminals refer to one
 * by its id.
 */
export class Sessions {
  readonly #http: HttpClient;
  readonly #path: string;

  constructor(http: HttpClient, sandboxPath: string) {
    this.#http = http;
    this.#path = sandboxPath;
  }

  /** Resolves to its id. */
  async create({ id, cwd, env, signal }: CreateSessionOptions = {}): Promise<string> {
    const session = await this.#http.json<{ readonly id: string }>(`POST ${this.#path}/session`, {
      json: { id, cwd, env },
      signal,
    });
    return session.id;
  }

  delete(id: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#http.done(`DELETE ${this.#path}/session/${encodeURIComponent(id)}`, { signal });
  }
}
