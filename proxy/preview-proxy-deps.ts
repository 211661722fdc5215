import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { OriginDecision, PreviewView, Scheme } from './preview-headers.ts';
import type { PreviewStatus } from './status-page.ts';
import type { PreviewLookup, PreviewTarget } from './preview-target.ts';

/**
 * Where the proxy says what went wrong; a pino logger fits. Fields never hold a token, only its
 * fingerprint.
 */
export interface PreviewProxyLog {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/**
 * Called on the hot path: count, and return. No label of theirs can hold a token, because none is
 * passed.
 */
export interface PreviewProxyMetrics {
  /** A request or a handshake has its status; `by`: the app, or one of our own pages. */
  answered(statusCode: number, by: 'app' | PreviewStatus): void;
  /** Body and WebSocket bytes, once an exchange is over: from the client, and to it. */
  bytes(fromClient: number, toClient: number, target: PreviewTarget): void;
  /** A WebSocket opened (1) or closed (-1). */
  upgrades(change: 1 | -1): void;
}

export interface Visitor {
  /** Scheme and Host header by which the preview is reached. */
  readonly scheme: Scheme;
  readonly host: string;
  /** For X-Forwarded-For. */
  readonly client: string;
}

/** The address of the other end of a connection, IPv4 in its own form. */
export function clientAddress({ socket: { remoteAddress = 'unknown' } }: IncomingMessage): string {
  return remoteAddress.startsWith('::ffff:') ? remoteAddress.slice(7) : remoteAddress;
}

/** What has been decided about a request that goes on to the app. */
export interface AdmittedRequest {
  readonly view: PreviewView;
  readonly origin: OriginDecision;
  readonly client: string;
}

export interface PreviewProxyDeps {
  /**
   * Answers at once for a live preview; a promise is awaited.
   * @param address of the client, where it is known
   */
  lookup(token: string, address: string | undefined): PreviewLookup | Promise<PreviewLookup>;
  /**
   * A byte stream to the preview's server.
   * @throws what `dialFailure` reads
   */
  dial(target: PreviewTarget, signal: AbortSignal): Promise<Duplex>;
  /**
   * The page that explains why no connection to the app was made; a dial that takes too long fails
   * with any Error.
   */
  dialFailure(error: unknown): PreviewStatus;
  /** How the sender of a request reaches the preview. */
  visitor(req: IncomingMessage, target: PreviewTarget): Visitor;
  /** The preview is in use. At most once a second for each. */
  touched(target: PreviewTarget): void;
  /**
   * Origins that may show a preview in a frame even where its app forbids frames: the console's.
   */
  frameAncestors(target: PreviewTarget): readonly string[];
  /** Whether a host name is that of another live preview of the same run as `target`. */
  isSibling(target: PreviewTarget, hostname: string): boolean;
  /** What a log may say of a token. */
  fingerprint(token: string): string;
  readonly log: PreviewProxyLog;
  readonly metrics: PreviewProxyMetrics;
}
