import { onceOpen } from '#base/concurrency.ts';
import type { PortholeFunction } from '#handlers/make-function.ts';
import type { HttpEvent, HttpResponse } from '#handlers/http/http-event.ts';
import { errorResponse } from '#handlers/http/render-errors.ts';
import type { Route } from '#handlers/route.ts';
import type { Logger } from '#handlers/services.ts';
import {
  type GatewayEvent,
  type GatewayResult,
  readGatewayEvent,
  routeReader,
  toGatewayResult,
} from './gateway-event.ts';
import { lineLogger, logRequest } from './line-logger.ts';
import { limitedFunction, type OpenFunction } from './open-function.ts';

/** The export `handler` of a function's bundle. */
export type GatewayFunction = (event: GatewayEvent, context?: Deadline) => Promise<GatewayResult>;

/** What is read of a runtime's context. */
export interface Deadline {
  getRemainingTimeInMillis?(): number;
}

/**
 * Waits of a buffered request end after this time, in milliseconds, and clients repeat it: API
 * Gateway ends requests after 29 seconds, and a function that is ended loses its process.
 */
const WAITS_MS = 25_000;
/** Waits and streams end this long before the runtime's own limit, in milliseconds. */
const EARLY_MS = 1_000;

/** Time until the limit of the runtime, less `earlyMs`; at least 0. Undefined without a limit. */
export function remaining(context: Deadline | undefined, earlyMs = EARLY_MS): number | undefined {
  const rest = context?.getRemainingTimeInMillis?.();
  return rest === undefined ? undefined : Math.max(rest - earlyMs, 0);
}

/** The end of the waits of a buffered request. */
export function bufferedEnding(context: Deadline | undefined): () => AbortSignal {
  const rest = Math.min(remaining(context) ?? WAITS_MS, WAITS_MS);
  return () => AbortSignal.timeout(rest);
}

/**
 * A route as a function of a runtime that buffers. Opens its services on the first request, and
 * again on the next if that failed.
 * @param open what the route's handler needs
 */
export function httpFunction(route: Route, open: () => Promise<OpenFunction>): GatewayFunction {
  const read = routeReader(route);
  let log: Logger = lineLogger();
  let redact: ((text: string) => string) | undefined;
  const opened = onceOpen(async (): Promise<PortholeFunction> => {
    const found = await open();
    ({ log } = found.services);
    ({ redact } = found.options);
    return limitedFunction(route, found);
  });
  return async (given, context) => {
    const began = performance.now();
    const { event, format } = readGatewayEvent(given);
    const { requestId } = event.requestContext;
    const result = await answer({ ...event, ending: bufferedEnding(context) })
      .then((response) => toGatewayResult(response, requestId, format))
      .catch((error: unknown) =>
        toGatewayResult(errorResponse(error, requestId, log, route.id, redact), requestId, format),
      );
    logRequest(log, route.id, event, result.statusCode, began);
    return result;
  };

  async function answer(event: HttpEvent): Promise<HttpResponse> {
    const request = read(event);
    const invoke = await opened();
    const response = await invoke(request, NO_CONTEXT);
    return event.requestContext.http.method === 'HEAD' ? { ...response, body: '' } : response;
  }
}

/** middy would create a separate error for a runtime's time limit. */
export const NO_CONTEXT = {};
