import type { Duplex } from 'node:stream';
import type { Scheme } from './preview-headers.ts';
import type { PreviewStatus } from './status-page.ts';
import type { PreviewLookup, PreviewTarget } from './preview-target.ts';

/** Where the proxy says what went wrong; a pino logger fits. Fields never hold a token, only its fingerprint. */
export interface PreviewProxyLog {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Called on the hot path: count, and return. No label of theirs can hold a token, because none is passed. */
export interface PreviewProxyMetrics {
  /** A request or a handshake has its status; `by`: the app, or one of our own pages. */
  answered(statusCode: number, by: 'app' | PreviewStatus): void;
  /** Body and WebSocket bytes, once an exchange is over: from the client, and to it. */
  bytes(fromClient: number, toClient: number): void;
  /** A WebSocket opened (1) or closed (-1). */
  upgrades(change: 1 | -1): void;
}

export interface PreviewProxyDeps {
  /** The zone of previews, e.g. `localhost`. */
  readonly zone: string;
  /** What clients use to reach the listener. */
  readonly scheme: Scheme;
  /**
   * Answers at once for a live preview; a promise is awaited.
   * @param address of the client, where it is known
   */
  lookup(token: string, address: string | undefined): PreviewLookup | Promise<PreviewLookup>;
  /**
   * A byte stream to the preview's server.
   * @throws PortholeError `nothing_listens`, `sandbox_not_running`, `sandbox_not_found`, `exec_transport_error`
   */
  dial(target: PreviewTarget, signal: AbortSignal): Promise<Duplex>;
  /** The preview is in use. At most once a second for each. */
  touched(target: PreviewTarget): void;
  /**
   * Origins that may show a preview in a frame even where its app forbids frames: the console's.
   */
  frameAncestors(): readonly string[];
  /** Whether `token` is another live preview of the same run as `target`. */
  siblingOf(target: PreviewTarget, token: string): boolean;
  readonly log: PreviewProxyLog;
  readonly metrics: PreviewProxyMetrics;
}
