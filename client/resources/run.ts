import type { Diagnosis, Run as RunInfo, RunViewers, WaitingApproval } from '../api.ts';
import type { HttpClient } from '../http/http-client.ts';
import { type FollowedEvent, followEvents, type FollowOptions } from '../http/follow-events.ts';
import type { SyncOptions } from '../sync/sync-options.ts';
import type { Platform } from './platform.ts';
import type { Command, ExecOptions } from './command.ts';
import type { CallOptions, Files } from './files.ts';
import type { Processes, Runnable } from './processes.ts';
import type { Sandbox } from './sandbox.ts';
import type { Ports, Servers } from './servers.ts';
import { Inbox, LOOK_MS } from './inbox.ts';
import type { LookOptions, PageCheck, PageLook, WaitingCheckOptions } from './page-check.ts';
import type { ApprovalScope } from './policies.ts';
import { Preview, type PreviewInfo, type PreviewOptions } from './preview.ts';
import { Server, type ServeOptions } from './server.ts';

export type { Diagnosis as DoctorReport, Run as RunInfo, WaitingApproval } from '../api.ts';

/** What the people of the owner's organisation may do in a run. */
export type Sharing = RunInfo['sharing'];
/** A person who has a run open. */
export type RunViewer = RunViewers['viewers'][number];

export interface ApproveOptions extends CallOptions {
  /** @default once */
  readonly scope?: ApprovalScope | undefined;
}

/** Components of a run; `sandbox` is where it works. */
export interface RunParts {
  readonly http: HttpClient;
  readonly platform: Platform;
  readonly info: RunInfo;
  readonly sandbox: Sandbox;
  readonly agentToken?: string | undefined;
  /** Previews wait for the owner's approval. */
  readonly isAgent?: boolean | undefined;
}

/** The work of one agent in a sandbox. */
export class Run {
  readonly id: string;
  readonly info: RunInfo;
  readonly sandbox: Sandbox;
  readonly files: Files;
  readonly processes: Processes;
  readonly servers: Servers;
  readonly ports: Ports;
  readonly inbox: Inbox;
  readonly #http: HttpClient;
  readonly #platform: Platform;
  readonly #path: string;
  readonly #agentToken: string | undefined;
  readonly #isAgent: boolean;

  constructor({ http, platform, info, sandbox, agentToken, isAgent = false }: RunParts) {
    this.id = info.run_id;
    this.info = info;
    this.sandbox = sandbox;
    this.files = sandbox.files;
    this.processes = sandbox.processes;
    this.servers = sandbox.servers;
    this.ports = sandbox.ports;
    this.#http = http;
    this.#platform = platform;
    this.#path = `api/runs/${encodeURIComponent(info.run_id)}`;
    this.inbox = new Inbox(http, this.#path);
    this.#agentToken = agentToken;
    this.#isAgent = isAgent;
  }

  /**
   * The credential of the run's agent. The API returns it once, to the caller that makes the run.
   */
  get agentToken(): string | undefined {
    return this.#agentToken;
  }

  /** Runs a command in the sandbox: a list of words, or a line for its shell. */
  exec(command: Runnable, options?: ExecOptions): Command {
    return this.sandbox.exec(command, options);
  }

  /**
   * Sends a folder of this machine (only changes, without what `.gitignore` names), or files by
   * their names.
   * @throws TypeError for a folder in a browser
   */
  async upload(
    what: string | Readonly<Record<string, string | Uint8Array | Blob>>,
    options?: SyncOptions,
  ): Promise<void> {
    if (typeof what === 'string') await this.#platform.syncFolder(this.sandbox, what, options);
    else await this.files.upload(what, { to: options?.to, signal: options?.signal });
  }

  /**
   * Declares and starts a server, which starts again after a failure. @throws PortholeError
   * `server_exists`
   */
  async serve(command: Runnable, { name, ...options }: ServeOptions = {}): Promise<Server> {
    const called = name ?? (options.port === undefined ? 'web' : `web-${options.port}`);
    return new Server(this, await this.servers.declare(called, command, options));
  }

  /**
   * Opens the preview of a port, or returns the live one, and keeps it alive. With the agent's
   * credential it waits for the owner's approval.
   * @throws PortholeError `approval_denied`, `approval_timed_out`
   */
  async preview(port: number, { signal, keepAliveMs, ...start }: PreviewOptions = {}): Promise<Preview> {
    const info = await this.#http.json<PreviewInfo>(
      `POST ${this.#path}/sandbox/${this.#isAgent ? 'preview' : 'port-forward'}`,
      {
        json: { target_port: port, ...start },
        // A repeated start returns the live preview, or joins the pending approval; a rotation
        // would rotate again.
        isIdempotent: start.rotate !== true,
        ...(this.#isAgent && { timeoutMs: 0, waits: true }),
        signal,
      },
    );
    return this.#preview(info, { keepAliveMs });
  }

  /** The live previews. Listing does not keep them alive. */
  async previews({ signal }: CallOptions = {}): Promise<readonly Preview[]> {
    const all = await this.#http.json<readonly PreviewInfo[]>(`GET ${this.#path}/sandbox/port-forward`, {
      signal,
    });
    return all.map((info) => this.#preview(info, { keepAliveMs: 0 }));
  }

  /** Why a preview does not show the app, and what to do. */
  doctor(port?: number, { signal }: CallOptions = {}): Promise<Diagnosis> {
    return this.#http.json<Diagnosis>(`GET ${this.#path}/sandbox/doctor`, { query: { port }, signal });
  }

  /** Opens a page of a live preview in a browser, and says whether it works. */
  check(port: number, { signal, ...page }: WaitingCheckOptions = {}): Promise<PageCheck> {
    return this.#http.json<PageCheck>(`POST ${this.#path}/previews/${port}/check`, {
      json: page,
      timeoutMs: LOOK_MS + (page.wait_for_change ?? 0) * 1_000,
      signal,
    });
  }

  /** Like `check`, with a screenshot and an outline. */
  look(port: number, { signal, ...page }: LookOptions = {}): Promise<PageLook> {
    return this.#http.json<PageLook>(`POST ${this.#path}/previews/${port}/look`, {
      json: page,
      timeoutMs: LOOK_MS,
      signal,
    });
  }

  /**
   * The run's timeline, from the beginning or after an event, then live. `tool.approval_required`
   * is a request that waits for you.
   */
  events(options?: FollowOptions): AsyncGenerator<FollowedEvent, void> {
    return followEvents(this.#http, `${this.#path}/events`, options);
  }

  /** Requests that wait for the owner's decision, oldest first. */
  async approvals({ signal }: CallOptions = {}): Promise<readonly WaitingApproval[]> {
    const all = await this.#http.list<WaitingApproval>('approvals', 'GET api/approvals', { signal });
    return all.filter((each) => each.run_id === this.id);
  }

  /** @param requestId `data.request_id` of `tool.approval_required` */
  approve(requestId: string, { scope, signal }: ApproveOptions = {}): Promise<void> {
    return this.#decide({ request_id: requestId, decision: 'approve', scope }, signal);
  }

  /** @param reason shown to the agent */
  deny(requestId: string, reason?: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#decide({ request_id: requestId, decision: 'deny', reason }, signal);
  }

  /** Shares the run with the people of its owner's organisation, or no longer. */
  share(sharing: Sharing, { signal }: CallOptions = {}): Promise<RunInfo> {
    return this.#http.json(`PATCH ${this.#path}`, { json: { sharing }, isIdempotent: true, signal });
  }

  /** Who has the run open now, if it is shared: people of its owner's organisation. */
  viewers(options?: CallOptions): Promise<readonly RunViewer[]> {
    return this.#http.list('viewers', `GET ${this.#path}/viewers`, options);
  }

  complete({ signal }: CallOptions = {}): Promise<void> {
    return this.#http.done(`POST ${this.#path}/complete`, { isIdempotent: true, signal });
  }

  #preview(info: PreviewInfo, options: PreviewOptions): Preview {
    return new Preview({ http: this.#http, platform: this.#platform, runId: this.id, info }, options);
  }

  #decide(decision: object, signal: AbortSignal | undefined): Promise<void> {
    return this.#http.done(`POST ${this.#path}/tool-approvals`, { json: decision, signal });
  }
}
