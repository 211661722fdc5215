import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AccessGate, Visit } from './access/access-gate.ts';
import type { OriginDecision, PreviewView, Scheme } from './preview-headers.ts';
import type { PreviewStatus } from './status-page.ts';
import type { PreviewLookup, PreviewTarget } from './preview-target.ts';
import type { Siblings } from './siblings.ts';

/** The proxy's log; a pino logger fits. Fields never contain a token, only its fingerprint. */
export interface PreviewProxyLog {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Called on the hot path: count, and return. No argument contains a token, so no label can. */
export interface PreviewProxyMetrics {
  /** A request or a handshake has its status; `by`: the app, or one of our own pages. */
  answered(statusCode: number, by: 'app' | PreviewStatus): void;
  /** Body and WebSocket bytes of a finished exchange: from the client, and to it. */
  bytes(fromClient: number, toClient: number, target: PreviewTarget): void;
  /** A WebSocket opened (1) or closed (-1). */
  upgrades(change: 1 | -1): void;
}

export interface Visitor {
  /** Scheme and Host header of the URL that was requested. */
  readonly scheme: Scheme;
  readonly host: string;
  /** Host header of the preview's own URL, for which its tickets are valid at each of its hosts. */
  readonly audience: string;
}

/** The trace of one request. */
export interface ExchangeTrace {
  /** What the app gets instead of the visitor's, e.g. `traceparent`. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /**
   * May be called again, which does nothing.
   * @param status the app's, or that of the page in its place; undefined: none was sent
   */
  end(status: number | undefined): void;
}

/** The decisions about a request that is sent to the app. */
export interface AdmittedRequest {
  readonly view: PreviewView;
  readonly origin: OriginDecision;
  readonly client: string;
  /** Of a preview that is not open to everyone. */
  readonly visit?: Visit | undefined;
  /** Token of the preview by which it came: its own, or a sibling's. */
  readonly enteredBy: string;
  /** @default - not traced; the headers of the visitor are passed on */
  readonly trace?: ExchangeTrace | undefined;
  /** Renews the visitor's cookie. */
  readonly setCookie?: string | undefined;
}

export interface PreviewProxyDeps {
  /**
   * Answers synchronously for a live preview; a promise is awaited.
   * @param address of the client
   */
  lookup(token: string, address: string): PreviewLookup | Promise<PreviewLookup>;
  /**
   * A byte stream to the preview's server.
   * @throws an error that `dialFailure` maps
   */
  dial(target: PreviewTarget, signal: AbortSignal): Promise<Duplex>;
  /**
   * The page for a failed connection to the app; a dial that takes too long fails with any Error.
   */
  dialFailure(error: unknown): PreviewStatus;
  /** For `lookup` and X-Forwarded-For. */
  clientAddress(req: IncomingMessage): string;
  /** How the sender of a request reaches the preview. */
  visitor(req: IncomingMessage, target: PreviewTarget): Visitor;
  /** The preview is in use. Called at most once a second per preview. */
  touched(target: PreviewTarget): void;
  /** Origins that may show a preview in a frame even if its app forbids frames: the console's. */
  frameAncestors(target: PreviewTarget): readonly string[];
  /** The other live previews of the run and sandbox of `target`. Called for every request. */
  siblings(target: PreviewTarget): Siblings;
  /** @default - previews are open to everyone who has their URL */
  readonly gate?: AccessGate | undefined;
  /** Where visitors report a preview of this token, whether or not there is one. */
  reportContact(token: string): string | undefined;
  /** Called for each request that is sent to the app. @default - none is traced */
  readonly traceRequest?: ((req: IncomingMessage, target: PreviewTarget) => ExchangeTrace) | undefined;
  /** A form of the token that logs may contain. */
  fingerprint(token: string): string;
  readonly log: PreviewProxyLog;
  readonly metrics: PreviewProxyMetrics;
}
