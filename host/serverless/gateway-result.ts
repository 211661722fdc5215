import { Readable } from 'node:stream';
import { PortholeError } from '#core/errors.ts';
import type { HttpResponse } from '#handlers/http-event.ts';
import { withSafeHeaders } from '#handlers/safe-headers.ts';

/** What API Gateway makes an answer of. */
export interface GatewayResult {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

/** Most that a function's result may weigh as JSON, in bytes: 6 MiB, less what the runtime itself adds. */
const MAX_RESULT_BYTES = 6 * 1024 * 1024 - 4096;

/**
 * Bytes travel as base64.
 * @throws PortholeError `not_streamable` for a stream, `payload_too_large` for more than a function can hand over
 */
export function toGatewayResult(response: HttpResponse, requestId: string | undefined): GatewayResult {
  const { statusCode, body = '' } = response;
  if (body instanceof Readable) {
    body.destroy();
    throw new PortholeError('not_streamable', 'This function cannot answer with a stream.');
  }
  const isBase64Encoded = typeof body !== 'string';
  const result: GatewayResult = {
    statusCode,
    headers: {
      ...withSafeHeaders(response.headers),
      ...(requestId !== undefined && { 'x-request-id': requestId }),
    },
    body: isBase64Encoded ? body.toString('base64') : body,
    isBase64Encoded,
  };
  if (weighsTooMuch(result)) {
    throw new PortholeError(
      'payload_too_large',
      `The answer is larger than the ${MAX_RESULT_BYTES} bytes that a function can hand over: ask for less.`,
    );
  }
  return result;
}

/** Each character becomes six bytes at most (`\u0000`): what is short enough need not be measured. */
function weighsTooMuch(result: GatewayResult): boolean {
  if (result.body.length < MAX_RESULT_BYTES / 8) return false;
  return Buffer.byteLength(JSON.stringify(result)) > MAX_RESULT_BYTES;
}
