import { type FollowedEvent, followEvents, type FollowOptions } from '../http/follow-events.ts';
import type { HttpClient } from '../http/http-client.ts';
import { KeepAlive } from '../http/keep-alive.ts';
import type { Platform } from './platform.ts';
import type { Preview, PreviewOptions } from './preview.ts';
import type { Run } from './run.ts';
import type { Runs } from './runs.ts';
import { type RunConfig, runConfig } from '../server/sandbox-config.ts';
import { Checkpoints } from './checkpoints.ts';
import { CodeContexts, type CodeRun, runCode, type RunCodeOptions } from './code.ts';
import { Command, type ExecOptions } from './command.ts';
import { type DelegateOptions, type Delegation, Delegations } from './delegations.ts';
import { type CallOptions, Files } from './files.ts';
import { Processes, type Runnable, wordsOf } from './processes.ts';
import type {
  CreateSandboxOptions,
  NetworkAttempt,
  NetworkOptions,
  NetworkPolicy,
  OnExit,
  SandboxInfo,
} from './sandbox-info.ts';
import { Ports, Servers } from './servers.ts';
import { Sessions } from './sessions.ts';
import { Terminal, type TerminalOptions } from './terminal.ts';

/** Components of a sandbox object. */
export interface SandboxParts {
  readonly http: HttpClient;
  readonly platform: Pick<Platform, 'openSocket'>;
  /** Absent for a delegate, who cannot make runs. */
  readonly runs?: Runs | undefined;
  readonly id: string;
  /** The API's response, if it was asked. */
  readonly info?: SandboxInfo | undefined;
  /** The sandbox's token, if this caller received it. */
  readonly token?: string | undefined;
  readonly onExit?: OnExit | undefined;
}

/** A sandbox, by its id. No request is sent until an operation needs one. */
export class Sandbox implements AsyncDisposable {
  readonly id: string;
  readonly files: Files;
  readonly processes: Processes;
  readonly servers: Servers;
  readonly ports: Ports;
  readonly sessions: Sessions;
  readonly delegations: Delegations;
  readonly checkpoints: Checkpoints;
  readonly codeContexts: CodeContexts;
  readonly #http: HttpClient;
  readonly #platform: SandboxParts['platform'];
  readonly #runs: Runs | undefined;
  readonly #path: string;
  readonly #onExit: OnExit;
  readonly #previews = new Set<Preview>();
  #token: string | undefined;
  #info: SandboxInfo | undefined;
  #heartbeat: KeepAlive | undefined;
  #run: Promise<Run> | undefined;

  constructor({ http, platform, runs, id, info, token, onExit = 'keep' }: SandboxParts) {
    this.id = id;
    this.#http = http;
    this.#platform = platform;
    this.#runs = runs;
    this.#path = `v1/sandbox/${encodeURIComponent(id)}`;
    this.#info = info;
    this.#token = token;
    this.#onExit = onExit;
    this.files = new Files(http, this.#path);
    this.processes = new Processes(http, this.#path);
    this.servers = new Servers(http, this.#path);
    this.ports = new Ports(http, this.#path);
    this.sessions = new Sessions(http, this.#path);
    this.delegations = new Delegations(http, this.#path, this);
    this.checkpoints = new Checkpoints(http, this.#path);
    this.codeContexts = new CodeContexts(http, this.#path);
  }

  /** The API's last response about it; undefined before the first. */
  get info(): SandboxInfo | undefined {
    return this.#info;
  }

  /** URL for holders of a credential of this sandbox. */
  get dataplaneUrl(): string {
    return this.#http.at(this.#path).href;
  }

  /** @throws PortholeError `sandbox_not_found` */
  async refresh({ signal }: CallOptions = {}): Promise<SandboxInfo> {
    this.#info = await this.#http.json<SandboxInfo>(`GET ${this.#path}`, { signal });
    return this.#info;
  }

  /** Runs a command: arguments without a shell, or a line for the sandbox's shell. */
  exec(
    command: Runnable | readonly string[],
    { cwd, timeoutMs, session, signal }: ExecOptions = {},
  ): Command {
    const argv = wordsOf(command);
    const response = this.#http.send(`POST ${this.#path}/exec`, {
      json: { argv, cwd, timeout_ms: timeoutMs },
      headers: { accept: 'text/event-stream', 'session-id': session },
      timeoutMs: 0,
      signal,
    });
    return new Command(argv[0] ?? '', response, signal);
  }

  /**
   * Runs code in a context, which keeps its variables. What the code throws is its `exception`.
   * @throws PortholeError `code_interpreter_missing`, `context_not_found`
   */
  runCode(code: string, options?: RunCodeOptions): Promise<CodeRun> {
    return runCode(this.#http, this.#path, code, options);
  }

  /** Opens a terminal. Await its `ready` to know that it has started. */
  terminal({ cols, rows, shell, session, signal }: TerminalOptions = {}): Terminal {
    const open = () => {
      const url = this.#http.at(`${this.#path}/pty`, { cols, rows, shell, session });
      url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
      return this.#platform.openSocket(url, this.#http.authorization);
    };
    return new Terminal(open, { session, signal });
  }

  /**
   * Events of the sandbox, by any caller: `connected`, `file_written`, `file_deleted`, `exec`,
   * `stopped`, `resumed`, `preview_opened`, `port_listening`, `port_closed`, `server`,
   * `process_started`, `process_exited`. Reconnects after a loss.
   */
  events(options?: FollowOptions): AsyncGenerator<FollowedEvent, void> {
    return followEvents(this.#http, `${this.#path}/events`, options);
  }

  /** Ends its processes and keeps its files. */
  stop(options?: CallOptions): Promise<SandboxInfo> {
    return this.#change('stop', options);
  }

  /** Starts it again, with its files. */
  resume(options?: CallOptions): Promise<SandboxInfo> {
    return this.#change('resume', options);
  }

  /** Destroys it, with its files. */
  async delete({ signal }: CallOptions = {}): Promise<void> {
    this.#letGo();
    await this.#http.done(`DELETE ${this.#path}`, { signal });
  }

  /** Sends one heartbeat. */
  heartbeat({ signal }: CallOptions = {}): Promise<void> {
    return this.#http.done(`POST ${this.#path}/heartbeat`, { isIdempotent: true, signal });
  }

  /**
   * Ends it after this time, whatever it does.
   * @param seconds from now; null: never
   */
  async setTimeout(
    seconds: number | null,
    { onTimeout, signal }: CallOptions & Pick<CreateSandboxOptions, 'onTimeout'> = {},
  ): Promise<SandboxInfo> {
    const json = { seconds, on_timeout: onTimeout };
    this.#info = await this.#http.json<SandboxInfo>(`PUT ${this.#path}/timeout`, { json, signal });
    return this.#info;
  }

  /** Sends heartbeats until `close` or the sandbox ends. Idempotent. */
  keepAlive(ttlSeconds: number): KeepAlive {
    this.#heartbeat ??= new KeepAlive((signal) => this.heartbeat({ signal }), heartbeatEvery(ttlSeconds));
    return this.#heartbeat;
  }

  /** What it may reach, and what it has tried, newest first. */
  network({
    signal,
  }: CallOptions = {}): Promise<NetworkPolicy & { readonly attempts: readonly NetworkAttempt[] }> {
    return this.#http.json(`GET ${this.#path}/network`, { signal });
  }

  /**
   * Changes what it may reach, at once. Open connections that are no longer allowed end.
   * @throws PortholeError `network_not_supported`
   */
  changeNetwork({ signal, ...change }: NetworkOptions & CallOptions): Promise<NetworkPolicy> {
    return this.#http.json(`PATCH ${this.#path}`, { json: change, signal });
  }

  /** Delegates part of it, for a limited time. */
  delegate(options: DelegateOptions): Promise<Delegation> {
    return this.delegations.create(options);
  }

  /** Creates a new token with all scopes; the previous one becomes invalid. */
  async rotateToken({ signal }: CallOptions = {}): Promise<string> {
    const { sandbox_token: token } = await this.#http.json<{ readonly sandbox_token: string }>(
      `POST ${this.#path}/token`,
      { signal },
    );
    this.#token = token;
    return token;
  }

  /**
   * The part of a run's configuration for the server that gets it: with `credential`, or else the
   * sandbox's token. Never with your API key, unless you pass it.
   * @throws TypeError without either
   */
  sandboxConfig({ credential = this.#token }: { readonly credential?: string } = {}): RunConfig {
    if (credential === undefined) {
      throw new TypeError(
        'There is nothing to delegate: call delegate() and sandboxConfig() of what it gives, or rotateToken(), or give a credential.',
      );
    }
    return runConfig({ sandbox_id: this.id, credential, dataplane_url: this.dataplaneUrl });
  }

  /** Opens a preview of a port, on a run created for it, and keeps it alive. */
  async preview(port: number, options?: PreviewOptions): Promise<Preview> {
    if (this.#runs === undefined) throw new TypeError('A delegate cannot open previews: ask the owner.');
    const making = (this.#run ??= this.#runs.create({ sandboxId: this.id }));
    const run = await making.catch((error: unknown) => {
      this.#run = undefined;
      throw error;
    });
    const preview = await run.preview(port, options);
    this.#previews.add(preview);
    return preview;
  }

  /** Stops heartbeats and keepalives. With `onExit: 'delete'` the sandbox is deleted. */
  async close(): Promise<void> {
    this.#letGo();
    if (this.#onExit === 'delete') await this.delete();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #letGo(): void {
    this.#heartbeat?.stop();
    this.#heartbeat = undefined;
    for (const preview of this.#previews) preview.letGo();
    this.#previews.clear();
  }

  async #change(how: 'stop' | 'resume', { signal }: CallOptions = {}): Promise<SandboxInfo> {
    this.#info = await this.#http.json<SandboxInfo>(`POST ${this.#path}/${how}`, {
      isIdempotent: true,
      signal,
    });
    return this.#info;
  }
}

/**
 * Heartbeat interval in milliseconds: two may be lost; at most the keepalive interval of previews.
 */
export function heartbeatEvery(ttlSeconds: number): number {
  return Math.min(60_000, Math.max(500, (ttlSeconds * 1_000) / 3));
}
