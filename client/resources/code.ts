import type { CodeContext, CodeRun } from '../api.ts';
import type { HttpClient } from '../http/http-client.ts';
import type { CallOptions } from './files.ts';

export type { CodeContext, CodeException, CodeResult, CodeRun } from '../api.ts';

export interface RunCodeOptions extends CallOptions {
  /** `python`, `javascript`, `typescript` or `bash`. @default python */
  readonly language?: string | undefined;
  /** The id of a context. @default the default context of the language */
  readonly context?: string | undefined;
  /** Variables of this run. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Then it is interrupted. @default 60,000 */
  readonly timeoutMs?: number | undefined;
}

/** Contexts of code, which keep their variables from run to run. */
export class CodeContexts {
  readonly #http: HttpClient;
  readonly #path: string;

  constructor(http: HttpClient, sandboxPath: string) {
    this.#http = http;
    this.#path = `${sandboxPath}/code/contexts`;
  }

  list(options?: CallOptions): Promise<readonly CodeContext[]> {
    return this.#http.list<CodeContext>('contexts', `GET ${this.#path}`, options);
  }

  /** @param options.cwd a folder of the sandbox. @default /home/user */
  create({
    language,
    cwd,
    signal,
  }: CallOptions & {
    readonly language?: string | undefined;
    readonly cwd?: string | undefined;
  } = {}): Promise<CodeContext> {
    return this.#http.json<CodeContext>(`POST ${this.#path}`, { json: { language, cwd }, signal });
  }

  /** Deletes it with its variables. @throws PortholeError `context_not_found` */
  delete(id: string, options?: CallOptions): Promise<void> {
    return this.#http.done(`DELETE ${this.#of(id)}`, options);
  }

  /** Its variables are lost. @throws PortholeError `context_not_found` */
  restart(id: string, options?: CallOptions): Promise<void> {
    return this.#http.done(`POST ${this.#of(id)}/restart`, options);
  }

  /** What runs there ends with an exception. @throws PortholeError `context_not_found` */
  interrupt(id: string, options?: CallOptions): Promise<void> {
    return this.#http.done(`POST ${this.#of(id)}/interrupt`, options);
  }

  #of(id: string): string {
    return `${this.#path}/${encodeURIComponent(id)}`;
  }
}

export function runCode(
  http: HttpClient,
  sandboxPath: string,
  code: string,
  { language, context, env, timeoutMs, signal }: RunCodeOptions = {},
): Promise<CodeRun> {
  return http.json<CodeRun>(`POST ${sandboxPath}/code`, {
    json: { code, language, context, env, timeout_ms: timeoutMs },
    headers: { accept: 'application/json' },
    timeoutMs: 0,
    signal,
  });
}
