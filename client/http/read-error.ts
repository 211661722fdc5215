import { parseObject } from './parse-object.ts';
import { readAtMost } from '../streams/read-at-most.ts';
import { PortholeError } from './porthole-error.ts';
import { redact } from './redact.ts';
import { readRetryAfter } from './retry-delay.ts';

/** More than any of the API's errors, in bytes: what stands in between may answer with pages. */
const MAX_BYTES = 65_536;

/**
 * The error that an answer is: `{"error", "code"}` in the API's own words, without secrets.
 * @param call what was asked, e.g. `GET /v1/sandbox`
 */
export async function readError(
  response: Response,
  call: string,
  secrets: readonly (string | undefined)[],
): Promise<PortholeError> {
  const { status } = response;
  const bytes = await readAtMost(response.body, MAX_BYTES).catch(() => new Uint8Array());
  const { error, code, retryable, request_id: requestId } = parseObject(new TextDecoder().decode(bytes));
  const isOurs = typeof error === 'string' && typeof code === 'string';
  const message = isOurs
    ? error
    : `${call} was answered with status ${status}, and not by Porthole: see that the URL is that of its API.`;
  return new PortholeError(redact(message, secrets), {
    status,
    code: isOurs ? code : `status_${status}`,
    retryable: typeof retryable === 'boolean' ? retryable : undefined,
    retryAfterMs: readRetryAfter(response.headers.get('retry-after'), new Date()),
    requestId: typeof requestId === 'string' ? requestId : undefined,
  });
}
