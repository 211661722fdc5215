import type { InstallationChecks } from './api.ts';
import { Audit } from './resources/audit.ts';
import { HttpClient, type HttpClientOptions } from './http/http-client.ts';
import { ANYWHERE, environment, type Platform } from './resources/platform.ts';
import { Policies } from './resources/policies.ts';
import { PreviewSharing } from './resources/preview-sharing.ts';
import type { Run } from './resources/run.ts';
import { type CreateRunOptions, Runs } from './resources/runs.ts';
import type { CallOptions } from './resources/files.ts';
import type { OpenSocket } from './resources/open-socket.ts';
import { Sandboxes } from './resources/sandboxes.ts';
import { Usage } from './resources/usage.ts';

export interface PortholeOptions extends Omit<HttpClientOptions, 'url'> {
  /** @default `PORTHOLE_URL`, or `http://127.0.0.1:8787` */
  readonly url?: string | undefined;
  /** How WebSockets are opened. @default the platform's WebSocket */
  readonly openSocket?: OpenSocket | undefined;
}

const DEFAULT_URL = 'http://127.0.0.1:8787';

/**
 * Porthole, as one caller sees it. `url` and `apiKey` default to the environment's `PORTHOLE_URL`
 * and `PORTHOLE_API_KEY`.
 *
 *     const porthole = new Porthole();
 *     const run = await porthole.run();
 *     await run.upload('./app');
 *     const server = await run.serve('npm run dev', { port: 3000 });
 *     console.log(await server.preview());
 */
export class Porthole {
  readonly sandboxes: Sandboxes;
  readonly runs: Runs;
  readonly policies: Policies;
  /** For admins. */
  readonly audit: Audit;
  readonly usage: Usage;
  protected readonly http: HttpClient;

  /** @throws TypeError for an invalid URL or key */
  constructor({ openSocket, url, apiKey, fetch }: PortholeOptions = {}, defaults: Platform = ANYWHERE) {
    const platform = { ...defaults, ...(openSocket !== undefined && { openSocket }) };
    const { PORTHOLE_URL, PORTHOLE_API_KEY } = environment();
    const http = new HttpClient({
      url: url ?? (PORTHOLE_URL || DEFAULT_URL),
      apiKey: apiKey ?? (PORTHOLE_API_KEY || undefined),
      fetch,
    });
    this.runs = new Runs(http, platform);
    this.sandboxes = new Sandboxes(http, platform, this.runs);
    this.policies = new Policies(http);
    this.audit = new Audit(http);
    this.usage = new Usage(http);
    this.http = http;
  }

  /**
   * For owners: creates a run with a sandbox, or returns the run with that id. Its previews open at
   * once.
   */
  run(options?: CreateRunOptions): Promise<Run>;
  run(id: string, options?: CallOptions): Promise<Run>;
  run(what: string | CreateRunOptions = {}, options?: CallOptions): Promise<Run> {
    return typeof what === 'string' ? this.runs.get(what, options) : this.runs.create(what);
  }

  /**
   * For agents: a run by its id, with its agent token as `apiKey`. Its previews wait for the
   * owner's approval.
   */
  agentRun(id: string, options?: CallOptions): Promise<Run> {
    return this.runs.get(id, { ...options, asAgent: true });
  }

  /** What the installation needs, and what to do where it is missing. For admins. */
  checks(options?: CallOptions): Promise<InstallationChecks> {
    return this.http.json('GET api/installation/checks', options);
  }

  /**
   * Who may open a live preview.
   * @param preview its `session_id`
   */
  sharing(preview: string): PreviewSharing {
    return new PreviewSharing(this.http, preview);
  }
}
