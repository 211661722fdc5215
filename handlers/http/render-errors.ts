import { type ErrorCode, PortholeError } from '#base/errors.ts';
import { secretRedactor } from '#core/auth/redact-secrets.ts';
import type { ErrorBody, HttpResponse } from './http-event.ts';
import { requestCause } from './request-cause.ts';
import { json, type Route } from '../route.ts';
import type { Logger, Services } from '../services.ts';
import type { Step } from './admit.ts';

/** Removes everything in the form of a token. */
export const redactTokens = secretRedactor([]);

/** The parts of an error response, before the body is JSON. */
export interface RenderedError {
  readonly status: number;
  readonly body: ErrorBody;
  readonly headers: Record<string, string>;
}

/**
 * `{error, code}` of a known error; anything else is a generic 500, and its cause is only logged.
 * @param redact removes secrets from messages, which repeat input: people paste keys into wrong
 * fields
 * @param isBridge whether the operation is of the bridge, which has no remedies
 */
export function renderError(
  error: unknown,
  requestId: string | undefined,
  log: Logger,
  operation: string,
  redact = redactTokens,
  isBridge = false,
): RenderedError {
  const bodyOf = (known: PortholeError): ErrorBody => ({
    error: redact(known.message),
    code: known.shownCode,
    retryable: known.retryable,
    ...(isBridge || known.remedy === undefined ? {} : { remedy: redact(known.remedy) }),
  });
  if (error instanceof PortholeError && error.status < 500) {
    return { status: error.status, body: { ...error.details, ...bodyOf(error) }, headers: hints(error) };
  }
  log.error({ err: error, request_id: requestId, operation }, 'request failed');
  const known = error instanceof PortholeError ? error : isDiskFull(error) ? DISK_FULL : BLANK;
  const body: ErrorBody = {
    ...bodyOf(known),
    ...(requestId === undefined ? {} : { request_id: requestId }),
  };
  return { status: known.status, body, headers: hints(known) };
}

/** The response of `renderError`, with the same parameters. */
export function errorResponse(...given: Parameters<typeof renderError>): HttpResponse {
  const { status, body, headers } = renderError(...given);
  return json(status, body, headers);
}

/** Response to an unexpected error. */
const BLANK = new PortholeError(
  'internal_error',
  'Something went wrong on our side. The log has the details under this request_id.',
);

/** Response where this machine's disk, not a sandbox's, refuses a write. */
const DISK_FULL = new PortholeError('disk_full', 'The disk of the machine is full.', {
  remedy: 'Delete files or sandboxes, and try again.',
});

function isDiskFull(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** nginx's status for a client that disconnected before the response. For logs and metrics. */
const CLIENT_GONE = 499;

/** Errors that may disappear within seconds. */
const SOON: ReadonlySet<ErrorCode> = new Set([
  'too_many_requests',
  'too_many_previews',
  'too_many_approvals',
  'service_unavailable',
  'capacity_exceeded',
  'too_many_looks',
  'browser_failed',
]);

function hints(error: PortholeError): Record<string, string> {
  if (SOON.has(error.code)) return { 'retry-after': String(error.retryAfterSeconds ?? 5) };
  // RFC 9110 section 15.5.2: a 401 says how to authenticate.
  if (error.code === 'unauthorized') return { 'www-authenticate': 'Bearer' };
  return {};
}

/** Converts errors of later steps into responses. */
export function renderErrors(
  services: Services,
  { id, bridge, challenge, errorShape }: Route,
  redact: (text: string) => string,
): Step {
  return {
    onError: (request) => {
      const { error, event } = request;
      if (isAbort(error) && event.signal?.aborted === true) {
        request.response = { statusCode: CLIENT_GONE, headers: {} };
        return;
      }
      const { requestId } = event.requestContext;
      const { status, body, headers } = renderError(error, requestId, services.log, id, redact, bridge);
      if (status === 401 || status === 403)
        services.denied.add({ operation: id, code: body.code, cause: requestCause(event) });
      const asked = status === 401 ? challenge?.(services, event.headers) : undefined;
      if (asked !== undefined) headers['www-authenticate'] = asked;
      const shown = errorShape?.(body, status) ?? { status, body };
      request.response = json(shown.status, shown.body, headers);
    },
  };
}

/** By shape: Node creates these errors in its own realm, so `instanceof` fails in a vm context. */
function isAbort(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'AbortError';
}
