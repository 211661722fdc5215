import type { HttpClient } from '../http/http-client.ts';
import type { CallOptions } from './files.ts';
import { type OutputEvent, type OutputOptions, readOutput } from './output.ts';
import type { PortInfo, PortState, Readiness, Restart, ServerInfo } from './process-info.ts';
import { type Runnable, runnableOf, type WaitOptions } from './processes.ts';

export interface DeclareOptions extends CallOptions {
  /** Within /workspace, the default. */
  readonly cwd?: string | undefined;
  /** Stored in the workspace with the declaration: put secrets into the sandbox's own variables. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The port it listens on; passed to it as `PORT`. */
  readonly port?: number | undefined;
  /** @default on-failure */
  readonly restart?: Restart | undefined;
  readonly readiness?: Readiness | undefined;
}

export interface LogsOptions extends OutputOptions {
  /** Starts this many lines before the end. */
  readonly tail?: number | undefined;
}

/** Servers that restart after their exit, after a resume and after a restart of Porthole. */
export class Servers {
  readonly #http: HttpClient;
  readonly #path: string;

  constructor(http: HttpClient, sandboxPath: string) {
    this.#http = http;
    this.#path = `${sandboxPath}/servers`;
  }

  /**
   * Declares and starts a server; repeating the declaration starts it if it is not running.
   * @throws PortholeError `server_exists`
   */
  declare(name: string, what: Runnable, options: DeclareOptions = {}): Promise<ServerInfo> {
    const { cwd, env, port, restart, readiness, signal } = options;
    const json = { ...runnableOf(what), cwd, env, port, restart, readiness };
    return this.#http.json<ServerInfo>(`PUT ${this.#of(name)}`, { json, signal });
  }

  /** Sorted by name. */
  list(options?: CallOptions): Promise<readonly ServerInfo[]> {
    return this.#http.list('servers', `GET ${this.#path}`, options);
  }

  /** @throws PortholeError `server_not_found` */
  get(name: string, options?: CallOptions): Promise<ServerInfo> {
    return this.#http.json<ServerInfo>(`GET ${this.#of(name)}`, options);
  }

  /** Returns at once: the state shows the progress. */
  start(name: string, options?: CallOptions): Promise<ServerInfo> {
    return this.#change(name, 'start', options);
  }

  /** It stays declared, and stays stopped after a resume. */
  stop(name: string, options?: CallOptions): Promise<ServerInfo> {
    return this.#change(name, 'stop', options);
  }

  restart(name: string, options?: CallOptions): Promise<ServerInfo> {
    return this.#change(name, 'restart', options);
  }

  /** Stops it, and removes its declaration and its logs. */
  remove(name: string, options?: CallOptions): Promise<void> {
    return this.#http.done(`DELETE ${this.#of(name)}`, options);
  }

  /**
   * The output of all its starts; exits are events in it. With `follow` it continues until you
   * leave the loop.
   */
  logs(name: string, { tail, ...options }: LogsOptions = {}): AsyncGenerator<OutputEvent, void> {
    return readOutput(this.#http, `${this.#of(name)}/logs`, { tail }, options);
  }

  #of(name: string): string {
    return `${this.#path}/${encodeURIComponent(name)}`;
  }

  #change(name: string, how: string, { signal }: CallOptions = {}): Promise<ServerInfo> {
    const path = `${this.#of(name)}/${how}`;
    return this.#http.json<ServerInfo>(`POST ${path}`, { signal });
  }
}

/** The API's default, in milliseconds. */
const USUAL_MS = 30_000;
/** Extra time for the response, beyond the wait itself, in milliseconds. */
const ANSWER_MS = 15_000;

/** Listening ports of a sandbox. */
export class Ports {
  readonly #http: HttpClient;
  readonly #path: string;

  constructor(http: HttpClient, sandboxPath: string) {
    this.#http = http;
    this.#path = `${sandboxPath}/ports`;
  }

  /** Ascending. */
  list(options?: CallOptions): Promise<readonly PortInfo[]> {
    return this.#http.list('ports', `GET ${this.#path}`, options);
  }

  /**
   * Resolves once the port is open, or closed.
   * @throws PortholeError `wait_timed_out`, by default after 30 s
   */
  wait(
    port: number,
    { state, timeoutMs = USUAL_MS, signal }: WaitOptions & { readonly state?: PortState['state'] } = {},
  ): Promise<PortState> {
    return this.#http.json<PortState>(`POST ${this.#path}/${port}/wait`, {
      json: { state, timeout_ms: timeoutMs },
      timeoutMs: timeoutMs + ANSWER_MS,
      signal,
    });
  }
}
