import type { PortForwardSession, StartedPortForwardSession } from '../api.ts';
import type { HttpClient } from '../http/http-client.ts';
import { KeepAlive } from '../http/keep-alive.ts';
import type { PortholeError } from '../http/porthole-error.ts';
import type { Platform } from './platform.ts';
import { PreviewSharing } from './preview-sharing.ts';
import type { CallOptions } from './files.ts';

/** A preview in the API's format. Only the response to a start says whether the app responds. */
export type PreviewInfo = Omit<PortForwardSession, 'reason'> &
  Partial<Pick<StartedPortForwardSession, 'ready' | 'reason' | 'problem' | 'server' | 'log'>>;

export interface PreviewOptions extends CallOptions {
  /** Ends the current URL of the port and opens a new one. */
  readonly rotate?: boolean | undefined;
  /** Keepalive interval in milliseconds; 0: no keepalives. @default 60,000 */
  readonly keepAliveMs?: number | undefined;
}

const KEEP_ALIVE_MS = 60_000;

export interface PreviewParts {
  readonly http: HttpClient;
  readonly platform: Platform;
  readonly runId: string;
  readonly info: PreviewInfo;
}

/** A live preview. It stays alive until you release it or it ends. */
export class Preview implements AsyncDisposable {
  readonly info: PreviewInfo;
  readonly sharing: PreviewSharing;
  readonly #http: HttpClient;
  readonly #platform: Platform;
  readonly #path: string;
  readonly #keepAlive: KeepAlive | undefined;
  /** Valid for ten minutes; another one is needed then, and after each change of the level. */
  #pass: string | undefined;

  constructor(
    { http, platform, runId, info }: PreviewParts,
    { keepAliveMs = KEEP_ALIVE_MS }: PreviewOptions = {},
  ) {
    this.info = info;
    this.sharing = new PreviewSharing(http, info.session_id);
    this.#http = http;
    this.#platform = platform;
    this.#path = `api/runs/${encodeURIComponent(runId)}/sandbox`;
    if (info.keepalive_url !== null && keepAliveMs > 0) {
      this.#keepAlive = new KeepAlive((signal) => this.touch({ signal }), keepAliveMs);
    }
  }

  get port(): number {
    return this.info.target_port;
  }

  /** URL of the preview. Anyone with the link can see the app. */
  get url(): string {
    const port = this.info.local_port;
    // Never a bare loopback address: cookies know no ports, so the app would get the console's.
    return this.info.preview_url ?? `http://preview-${port}.localhost:${port}/`;
  }

  /**
   * Requests a path of the app, also where the system does not resolve `*.localhost`. Where only
   * some may open the preview, the owner gets in by a pass.
   */
  async fetch(path = '/', init: RequestInit = {}): Promise<Response> {
    const url = new URL(path, this.url);
    const send = () => this.#platform.fetchPreview(url, withPass(init, this.#pass));
    const response = await send();
    const isRefused = response.headers.get('x-porthole-status') === 'access_required';
    // A stream can be sent once only.
    if (!isRefused || init.body instanceof ReadableStream) return response;
    this.#pass = await this.sharing.pass({ signal: init.signal ?? undefined });
    if (this.#pass === undefined) return response;
    await response.body?.cancel();
    return send();
  }

  /** Whether the app answered when it was started. */
  get ready(): boolean {
    return this.info.ready ?? true;
  }

  /** Resolves with the reason for the end, or undefined after you release it. Never rejects. */
  get over(): Promise<PortholeError | undefined> {
    return this.#keepAlive?.over ?? Promise.resolve(undefined);
  }

  /** Extends its expiry once. */
  touch({ signal }: CallOptions = {}): Promise<void> {
    const token = encodeURIComponent(this.info.session_id);
    return this.#http.done(`POST ${this.#path}/preview/${token}/keepalive`, { isIdempotent: true, signal });
  }

  /** Stops keepalives. The preview lives on until it exceeds its idle time. */
  letGo(): void {
    this.#keepAlive?.stop();
  }

  /** Ends it. Its URL never works again. */
  async stop({ signal }: CallOptions = {}): Promise<void> {
    this.letGo();
    const token = encodeURIComponent(this.info.session_id);
    await this.#http.done(`DELETE ${this.#path}/port-forward/${token}`, { signal });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.letGo();
    return Promise.resolve();
  }

  /** Its URL, for printing. Anyone with the link can see the app. */
  toString(): string {
    return this.url;
  }

  /** What `console.log` prints in Node. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.url;
  }

  /** Without the URL: JSON goes to logs. */
  toJSON(): object {
    return { target_port: this.port, expires_at: this.info.expires_at };
  }
}

function withPass(init: RequestInit, pass: string | undefined): RequestInit {
  if (pass === undefined) return init;
  const headers = new Headers(init.headers);
  headers.set('x-porthole-pass', pass);
  return { ...init, headers };
}
