import type { Readable } from 'node:stream';
import type { ErrorCode } from '#base/errors.ts';
import type { MessageSocket } from '#core/terminals/message-socket.ts';

/**
 * Input of a function: the fields of an API Gateway v2 (HTTP API) event that Porthole reads and, on
 * the function host, the body as an unread stream.
 */
export interface HttpEvent {
  readonly rawPath: string;
  readonly rawQueryString: string;
  /** Lower-case names; several values are joined with ", ". */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly pathParameters?: Readonly<Record<string, string | undefined>> | undefined;
  readonly requestContext: {
    readonly requestId?: string | undefined;
    readonly http: { readonly method: string; readonly sourceIp?: string | undefined };
  };
  /** The whole body, on runtimes that buffer. */
  readonly body?: string | null | undefined;
  readonly isBase64Encoded?: boolean | undefined;
  /** The body, on runtimes that stream. */
  readonly bodyStream?: (() => Readable) | undefined;
  /** A WebSocket's handshake, on runtimes that support it: the response may be an `upgrade`. */
  readonly handshake?: Handshake | undefined;
  /** Aborts when the client disconnects, on runtimes that detect it. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Aborts when waits and event streams of this request must end, on runtimes that limit its time:
   * unlike `signal`, the client is still there. Called once at most.
   */
  readonly ending?: (() => AbortSignal) | undefined;
}

export interface Handshake {
  /**
   * @throws PortholeError `invalid_request` for an invalid handshake. Called after credential and
   * input: their errors come first
   */
  check(): void;
}

/** An API Gateway v2 response. On hosts that stream, the body may be a stream. */
export interface HttpResponse {
  statusCode: number;
  headers: Record<string, string>;
  body?: string | Buffer | Readable | undefined;
  /**
   * Only with status 101, in response to a handshake: takes over the WebSocket once the client has
   * the response. Not called if the client has disconnected.
   */
  upgrade?: ((socket: MessageSocket) => void) | undefined;
}

/** The body of every error response. */
export interface ErrorBody {
  readonly error: string;
  readonly code: ErrorCode;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** What to do next. Not in responses of the bridge's operations. */
  readonly remedy?: string;
  /** For the operator: the log has the cause under this id. */
  readonly request_id?: string;
}

/** Whether the answer of `Route.verbose` is asked for. */
export function isVerbose({ rawQueryString }: Pick<HttpEvent, 'rawQueryString'>): boolean {
  return new URLSearchParams(rawQueryString).has('verbose');
}
