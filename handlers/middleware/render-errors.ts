import { type ErrorCode, PortholeError } from '#core/errors.ts';
import type { HttpResponse } from '../http-event.ts';
import { json } from '../route.ts';
import type { Logger } from '../services.ts';
import type { Step } from './step.ts';

/** The one shape of an error answer. */
export interface ErrorBody {
  readonly error: string;
  readonly code: ErrorCode;
  /** Quote it to the operator: the log has the cause under it. */
  readonly request_id?: string;
}

/** `{error, code}` of a known error; anything else is a blank 500 whose cause stays in the log. */
export function errorResponse(
  error: unknown,
  requestId: string | undefined,
  log: Logger,
  operation: string,
): HttpResponse {
  if (error instanceof PortholeError && error.status < 500) {
    return json(error.status, { error: error.message, code: error.code } satisfies ErrorBody, hints(error));
  }
  log.error({ err: error, request_id: requestId, operation }, 'request failed');
  const body: ErrorBody =
    error instanceof PortholeError
      ? {
          error: error.message,
          code: error.code,
          ...(requestId === undefined ? {} : { request_id: requestId }),
        }
      : {
          error: 'Something went wrong on our side. The log has the details under this request_id.',
          code: 'internal_error',
          ...(requestId === undefined ? {} : { request_id: requestId }),
        };
  return json(
    error instanceof PortholeError ? error.status : 500,
    body,
    error instanceof PortholeError ? hints(error) : {},
  );
}

function hints(error: PortholeError): Record<string, string> {
  if (error.code === 'too_many_previews' || error.code === 'service_unavailable')
    return { 'retry-after': '5' };
  return {};
}

/** Turns whatever a later step throws into an answer. */
export function renderErrors(log: Logger, operation: string): Step {
  return {
    onError: (request) => {
      request.response = errorResponse(request.error, request.event.requestContext.requestId, log, operation);
    },
  };
}
