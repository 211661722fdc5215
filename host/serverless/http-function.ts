import { makeFunction, type PortholeFunction } from '#handlers/make-function.ts';
import { errorResponse } from '#handlers/http/render-errors.ts';
import type { Route } from '#handlers/route.ts';
import type { Logger } from '#handlers/services.ts';
import {
  type GatewayEvent,
  gatewayEventReader,
  type GatewayResult,
  toGatewayResult,
} from './gateway-event.ts';
import type { GatewayFunction } from './gateway-function.ts';
import { lineLogger, logRequest } from './line-logger.ts';
import { onceOpen, type OpenFunction } from './open-function.ts';

/**
 * A route as a function of a runtime that buffers. Opens its services on the first request, and
 * again on the next if that failed.
 * @param open what the route's handler needs
 */
export function httpFunction(route: Route, open: () => Promise<OpenFunction>): GatewayFunction {
  const read = gatewayEventReader(route);
  let log: Logger = lineLogger();
  let redact: ((text: string) => string) | undefined;
  const opened = onceOpen(async (): Promise<PortholeFunction> => {
    const { services, options } = await open();
    ({ log } = services);
    ({ redact } = options);
    return makeFunction(route, services, options);
  });
  return async (event) => {
    const began = performance.now();
    const { requestId } = event.requestContext;
    const result = await answer(event).catch((error: unknown) =>
      toGatewayResult(errorResponse(error, requestId, log, route.id, redact), requestId),
    );
    logRequest(log, route.id, event, result.statusCode, began);
    return result;
  };

  async function answer(event: GatewayEvent): Promise<GatewayResult> {
    const request = read(event);
    const invoke = await opened();
    const response = await invoke(request, NO_CONTEXT);
    const isHead = event.requestContext.http.method === 'HEAD';
    return toGatewayResult(isHead ? { ...response, body: '' } : response, event.requestContext.requestId);
  }
}

/** middy would create a separate error for a runtime's time limit. */
const NO_CONTEXT = {};
