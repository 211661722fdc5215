import type { HttpClient } from '../http/http-client.ts';
import { filterQuery, type ListFilter, pages } from '../http/pages.ts';
import type { Platform } from './platform.ts';
import type { CallOptions } from './files.ts';
import { Sandbox } from './sandbox.ts';
import { Run, type RunInfo, type RunParts, type WaitingApproval } from './run.ts';

export interface CreateRunOptions extends CallOptions {
  readonly title?: string | undefined;
  /** One of your sandboxes; without it a new one is created. */
  readonly sandboxId?: string | undefined;
  /** Image of the new sandbox. */
  readonly image?: string | undefined;
  /** Previews that the agent requests open without an approval. */
  readonly autoApproveTools?: boolean | undefined;
}

export interface ListRunsOptions extends CallOptions, ListFilter {
  readonly status?: 'running' | 'completed' | undefined;
  readonly sandboxId?: string | undefined;
  /** Only runs of others that are shared with your organisation. */
  readonly shared?: boolean | undefined;
  /** Its sandbox must have this tag. */
  readonly tag?: readonly [key: string, value: string] | undefined;
  /** @default newest */
  readonly sort?: 'newest' | 'oldest' | 'title' | undefined;
}

/** Your runs. */
export class Runs {
  readonly #http: HttpClient;
  readonly #platform: Platform;

  constructor(http: HttpClient, platform: Platform) {
    this.#http = http;
    this.#platform = platform;
  }

  async create({ title, sandboxId, image, autoApproveTools, signal }: CreateRunOptions = {}): Promise<Run> {
    const { agent_token: agentToken, ...info } = await this.#http.json<
      RunInfo & { readonly agent_token: string }
    >('POST api/runs', {
      json: { title, sandbox_id: sandboxId, image, auto_approve_tools: autoApproveTools },
      timeoutMs: 0,
      signal,
    });
    return this.#run(info, { agentToken });
  }

  /** @throws PortholeError `run_not_found` */
  async get(
    id: string,
    { asAgent, signal }: CallOptions & { readonly asAgent?: boolean } = {},
  ): Promise<Run> {
    const path = `api/runs/${encodeURIComponent(id)}`;
    return this.#run(await this.#http.json<RunInfo>(`GET ${path}`, { signal }), { isAgent: asAgent });
  }

  /** Matching runs; pages are fetched on demand. */
  async *list(options: ListRunsOptions = {}): AsyncGenerator<Run, void> {
    const { status, sandboxId, shared, tag, sort, signal } = options;
    const query = {
      ...filterQuery(options),
      status,
      sandbox_id: sandboxId,
      shared: shared === true ? 'true' : undefined,
      tag: tag?.join(':'),
      sort,
    };
    for await (const info of pages<RunInfo>(this.#http, 'api/runs', 'runs', query, signal)) {
      yield this.#run(info);
    }
  }

  /** Requests of all your runs that wait for your decision, oldest first. */
  approvals(options?: CallOptions): Promise<readonly WaitingApproval[]> {
    return this.#http.list('approvals', 'GET api/approvals', options);
  }

  #run(info: RunInfo, parts: Pick<RunParts, 'agentToken' | 'isAgent'> = {}): Run {
    const [http, platform] = [this.#http, this.#platform];
    const sandbox = new Sandbox({ http, platform, id: info.sandbox_id, runs: this });
    return new Run({ http, platform, info, sandbox, ...parts });
  }
}
