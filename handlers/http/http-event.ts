import type { Readable } from 'node:stream';
import type { MessageSocket } from '#core/terminals/message-socket.ts';

/**
 * What a function is invoked with: the fields of an API Gateway v2 (HTTP API) event that Porthole
 * reads, and, on the function host, the body as an unread stream.
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
  /** The whole body where the runtime buffers. */
  readonly body?: string | null | undefined;
  readonly isBase64Encoded?: boolean | undefined;
  /** The body where the runtime streams. */
  readonly bodyStream?: (() => Readable) | undefined;
  /** A WebSocket's handshake, on a runtime that can carry one: the answer may be an `upgrade`. */
  readonly handshake?: Handshake | undefined;
  /** Aborted when the client goes away, where the runtime can tell. */
  readonly signal?: AbortSignal | undefined;
}

export interface Handshake {
  /**
   * @throws PortholeError `invalid_request` for one that cannot be completed. Not checked before
   * credential and input, so that their errors come first
   */
  check(): void;
}

/** An API Gateway v2 response. On hosts that stream, the body may be a stream. */
export interface HttpResponse {
  statusCode: number;
  headers: Record<string, string>;
  body?: string | Buffer | Readable | undefined;
  /**
   * With status 101, to a handshake alone: takes over the WebSocket once the client has its answer.
   * Not called for a client that has gone.
   */
  upgrade?: ((socket: MessageSocket) => void) | undefined;
}
