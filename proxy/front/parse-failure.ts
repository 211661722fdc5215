import { type Refusal, refusal } from './refusal.ts';

/** What Node reports with `clientError`. `reason` is one of the parser's own fixed sentences. */
export interface ClientError extends Error {
  readonly code?: string;
  readonly reason?: string;
}

/** The answer that a connection is owed when its request could not be read; undefined where nobody waits for one. */
export function parseFailure(error: ClientError): Refusal | undefined {
  switch (error.code ?? '') {
    case 'HPE_HEADER_OVERFLOW':
      return refusal('headers_too_large', 'The request head is too large. Send fewer or shorter headers.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return refusal('payload_too_large', 'The chunk extensions are too large. Send none.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return refusal('request_timeout', 'The request head did not arrive in time. Send it at once.');
    // Bytes after a request that said `Connection: close`: that request's answer is the last one.
    case 'HPE_CLOSED_CONNECTION':
    case 'ECONNRESET':
    case 'EPIPE':
    case 'ETIMEDOUT':
      return undefined;
    default:
      return refusal(
        'invalid_request',
        `The request is not valid HTTP/1.1 (${error.reason ?? error.code ?? 'unreadable'}). Send it as RFC 9112 says.`,
      );
  }
}
