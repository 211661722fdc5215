import type { HttpClient } from '../http/http-client.ts';
import { pages } from '../http/pages.ts';
import type { CallOptions } from '../sandboxes/files.ts';
import { type FollowedEvent, followEvents, type FollowOptions } from '../http/follow-events.ts';
import { Preview, type PreviewInfo, type StartPreviewOptions } from './preview.ts';

/** A run as the API tells it. */
export interface RunInfo {
  readonly run_id: string;
  readonly owner: string;
  readonly title: string | null;
  readonly sandbox_id: string;
  readonly auto_approve_tools: boolean;
  readonly status: 'running' | 'completed';
  readonly created_at: string;
  readonly completed_at: string | null;
  readonly [field: string]: unknown;
}

export interface CreateRunOptions extends CallOptions {
  readonly title?: string | undefined;
  /** One of your sandboxes; without it a new one is made. */
  readonly sandboxId?: string | undefined;
  /** Of the new sandbox. */
  readonly image?: string | undefined;
  /** Previews that the agent asks for open without a person. */
  readonly autoApproveTools?: boolean | undefined;
}

export interface ApproveOptions extends CallOptions {
  /**
   * This call alone, its port in this run, any port in this run, or any port in all your runs.
   * @default once
   */
  readonly scope?: 'once' | 'port' | 'run' | 'always' | undefined;
}

export interface DoctorReport {
  readonly sandbox: string;
  /** One sentence: what to do first. */
  readonly advice: string;
  readonly ports: readonly { readonly port: number; readonly ready: boolean; readonly advice: string }[];
  readonly [field: string]: unknown;
}

/** The work of one agent in a sandbox. */
export class Run {
  readonly id: string;
  readonly info: RunInfo;
  readonly #http: HttpClient;
  readonly #path: string;
  readonly #agentToken: string | undefined;

  constructor(http: HttpClient, info: RunInfo, agentToken?: string) {
    this.id = info.run_id;
    this.info = info;
    this.#http = http;
    this.#path = `api/runs/${encodeURIComponent(info.run_id)}`;
    this.#agentToken = agentToken;
  }

  /** For the run's agent; known only to whoever made the run. */
  get agentToken(): string | undefined {
    return this.#agentToken;
  }

  /** Opens the preview of a port, or finds the one that is there, and keeps it alive. */
  async startPreview(port: number, options: StartPreviewOptions = {}): Promise<Preview> {
    const info = await this.#http.json<PreviewInfo>({
      method: 'POST',
      path: `${this.#path}/sandbox/port-forward`,
      json: { target_port: port, rotate: options.rotate },
      // The second call finds what the first one opened; a rotation would rotate again.
      isIdempotent: options.rotate !== true,
      signal: options.signal,
    });
    return new Preview(this.#http, this.id, info, options);
  }

  /** The live ones. They are not kept alive by this. */
  async previews({ signal }: CallOptions = {}): Promise<readonly Preview[]> {
    const all = await this.#http.json<readonly PreviewInfo[]>({
      path: `${this.#path}/sandbox/port-forward`,
      signal,
    });
    return all.map((info) => new Preview(this.#http, this.id, info, { keepAliveMs: 0 }));
  }

  /** Why a preview does not show the app, and what to do. */
  doctor(port?: number, { signal }: CallOptions = {}): Promise<DoctorReport> {
    return this.#http.json<DoctorReport>({ path: `${this.#path}/sandbox/doctor`, query: { port }, signal });
  }

  /** Its timeline, from the beginning or after an event, and on as it happens. What waits for you is `tool.approval_required`. */
  events(options?: FollowOptions): AsyncGenerator<FollowedEvent, void> {
    return followEvents(this.#http, `${this.#path}/events`, options);
  }

  /** @param requestId `data.request_id` of `tool.approval_required` */
  approve(requestId: string, { scope, signal }: ApproveOptions = {}): Promise<void> {
    return this.#decide({ request_id: requestId, decision: 'approve', scope }, signal);
  }

  /** @param reason the agent gets to read it */
  deny(requestId: string, reason?: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#decide({ request_id: requestId, decision: 'deny', reason }, signal);
  }

  complete({ signal }: CallOptions = {}): Promise<void> {
    return this.#http.done({ method: 'POST', path: `${this.#path}/complete`, isIdempotent: true, signal });
  }

  #decide(decision: object, signal: AbortSignal | undefined): Promise<void> {
    return this.#http.done({
      method: 'POST',
      path: `${this.#path}/tool-approvals`,
      json: decision,
      signal,
    });
  }
}

/** Your runs. */
export class Runs {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  async create({ title, sandboxId, image, autoApproveTools, signal }: CreateRunOptions = {}): Promise<Run> {
    const { agent_token: agentToken, ...info } = await this.#http.json<
      RunInfo & { readonly agent_token: string }
    >({
      method: 'POST',
      path: 'api/runs',
      json: { title, sandbox_id: sandboxId, image, auto_approve_tools: autoApproveTools },
      timeoutMs: 0,
      signal,
    });
    return new Run(this.#http, info, agentToken);
  }

  /** @throws PortholeError `run_not_found` */
  async get(id: string, { signal }: CallOptions = {}): Promise<Run> {
    return new Run(
      this.#http,
      await this.#http.json<RunInfo>({ path: `api/runs/${encodeURIComponent(id)}`, signal }),
    );
  }

  /** Newest first. */
  async *list({ signal }: CallOptions = {}): AsyncGenerator<Run, void> {
    for await (const info of pages<RunInfo>(this.#http, 'api/runs', 'runs', {}, signal)) {
      yield new Run(this.#http, info);
    }
  }
}
