import type { HttpClient } from '../http/http-client.ts';
import type { CallOptions } from './files.ts';
import { type OutputEvent, type OutputOptions, readOutput } from './output.ts';
import type { PortInfo, PortState, Readiness, Restart, ServerInfo } from './process-info.ts';
import { type Runnable, runnableOf, type WaitOptions } from './processes.ts';

export interface DeclareOptions extends CallOptions {
  /** Within /workspace, the default. */
  readonly cwd?: string | undefined;
  /** Kept in the workspace with the declaration: put secrets into the sandbox's own variables. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Where it listens; it gets it as `PORT`. */
  readonly port?: number | undefined;
  /** @default on-failure */
  readonly restart?: Restart | undefined;
  readonly readiness?: Readiness | undefined;
}

export interface LogsOptions extends OutputOptions {
  /** Begins so many lines before the end. */
  readonly tail?: number | undefined;
}

/** Servers that start again after their exit, after a resume and after a restart of Porthole. */
export class Servers {
  readonly #http: HttpClient;
  readonly #path: string;

  constructor(http: HttpClient, sandboxPath: string) {
    this.#http = http;
    this.#path = `${sandboxPath}/servers`;
  }

  /**
   * Declares and starts one; the same declaration again starts it where it does not run. @throws
   * PortholeError `server_exists`
   */
  declare(name: string, what: Runnable, options: DeclareOptions = {}): Promise<ServerInfo> {
    const { cwd, env, port, restart, readiness, signal } = options;
    const json = { ...runnableOf(what), cwd, env, port, restart, readiness };
    return this.#http.json<ServerInfo>({ method: 'PUT', path: this.#of(name), json, signal });
  }

  /** By name. */
  async list({ signal }: CallOptions = {}): Promise<readonly ServerInfo[]> {
    const { servers } = await this.#http.json<{ readonly servers: readonly ServerInfo[] }>({
      path: this.#path,
      signal,
    });
    return servers;
  }

  /** @throws PortholeError `server_not_found` */
  get(name: string, { signal }: CallOptions = {}): Promise<ServerInfo> {
    return this.#http.json<ServerInfo>({ path: this.#of(name), signal });
  }

  /** Answers at once: the state says how it goes on. */
  start(name: string, options?: CallOptions): Promise<ServerInfo> {
    return this.#change(name, 'start', options);
  }

  /** It stays declared, and stopped over a resume. */
  stop(name: string, options?: CallOptions): Promise<ServerInfo> {
    return this.#change(name, 'stop', options);
  }

  restart(name: string, options?: CallOptions): Promise<ServerInfo> {
    return this.#change(name, 'restart', options);
  }

  /** Stops it, and removes its declaration and its logs. */
  remove(name: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#http.done({ method: 'DELETE', path: this.#of(name), signal });
  }

  /**
   * The output of all its starts; an exit is an event among others. With `follow` it goes on until
   * you leave it.
   */
  logs(name: string, { tail, ...options }: LogsOptions = {}): AsyncGenerator<OutputEvent, void> {
    return readOutput(this.#http, `${this.#of(name)}/logs`, { tail }, options);
  }

  #of(name: string): string {
    return `${this.#path}/${encodeURIComponent(name)}`;
  }

  #change(name: string, how: string, { signal }: CallOptions = {}): Promise<ServerInfo> {
    const path = `${this.#of(name)}/${how}`;
    return this.#http.json<ServerInfo>({ method: 'POST', path, signal });
  }
}

/** The API's own, in milliseconds. */
const USUAL_MS = 30_000;
/** Beyond the time that a wait may take. */
const ANSWER_MS = 15_000;

/** What listens in a sandbox. */
export class Ports {
  readonly #http: HttpClient;
  readonly #path: string;

  constructor(http: HttpClient, sandboxPath: string) {
    this.#http = http;
    this.#path = `${sandboxPath}/ports`;
  }

  /** Ascending. */
  async list({ signal }: CallOptions = {}): Promise<readonly PortInfo[]> {
    const { ports } = await this.#http.json<{ readonly ports: readonly PortInfo[] }>({
      path: this.#path,
      signal,
    });
    return ports;
  }

  /**
   * Resolves once something listens on it, or nothing any more. @throws PortholeError
   * `wait_timed_out`, by default after 30 s
   */
  wait(
    port: number,
    { state, timeoutMs = USUAL_MS, signal }: WaitOptions & { readonly state?: PortState['state'] } = {},
  ): Promise<PortState> {
    return this.#http.json<PortState>({
      method: 'POST',
      path: `${this.#path}/${port}/wait`,
      json: { state, timeout_ms: timeoutMs },
      timeoutMs: timeoutMs + ANSWER_MS,
      signal,
    });
  }
}
